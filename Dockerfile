# A server of Phronesis: web pages, HTTP API and MCP at port 8765. compose.yaml runs it on PostgreSQL.
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY src src
RUN python -m venv /opt/phronesis \
 && /opt/phronesis/bin/pip install --no-cache-dir ".[embed,tokens,server,mcp,postgres,models,documents]"

FROM python:3.13-slim
RUN useradd --create-home --uid 10001 phronesis && mkdir /data && chown phronesis /data
COPY --from=build /opt/phronesis /opt/phronesis
ENV PATH=/opt/phronesis/bin:$PATH XDG_DATA_HOME=/data PHRONESIS_DAEMON=off
USER phronesis
VOLUME /data
EXPOSE 8765
# It refuses to start where others reach it and there is no key: phronesis serve keys create --role admin --label first
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8765/healthz', timeout=2)"]
ENTRYPOINT ["phronesis"]
CMD ["serve", "--host", "0.0.0.0"]
