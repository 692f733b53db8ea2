// Client of a Phronesis server. Names of fields are those of the API; types are generated from its OpenAPI document.
import type { components, paths } from "./schema.ts"

export type { components, operations, paths } from "./schema.ts"
export type Schemas = components["schemas"]

type Method = "get" | "post" | "patch" | "delete"
/** The paths that take a method. */
export type PathsOf<M extends Method> = { [P in keyof paths]: undefined extends paths[P][M] ? never : P }[keyof paths]
type Part<O, Name extends string> = O extends { parameters: { [N in Name]?: infer T } } ? Exclude<T, undefined> : never
type BodyOf<O> = O extends { requestBody?: { content: { "application/json": infer T } } } ? T : never
/** What a call takes: parameters of the path and the query, and a body. */
export interface Given<O> {
  path?: Part<O, "path">
  query?: Part<O, "query">
  body?: BodyOf<O>
  /** The same key and body again give the same result, once; default: a new one. */
  idempotencyKey?: string
  /** The version that a change is for, as `If-Match`. */
  version?: number
}
type Json<R, Status extends number> = {
  [S in keyof R & Status]: R[S] extends { content: { "application/json": infer T } } ? T : undefined
}[keyof R & Status]
export type ResultOf<O> = O extends { responses: infer R } ? Json<R, 200 | 201> : never

type Write = Pick<Given<unknown>, "idempotencyKey">
type Body<Name extends keyof Schemas> = Schemas[Name]

export interface Settings {
  /** The server's address; default: http://127.0.0.1:8765. */
  baseUrl?: string
  apiKey?: string
  /** Milliseconds that each attempt may take; default: 30,000. */
  timeoutMs?: number
  /** How often a call is repeated when no server answers or it asks to wait; default: 3. */
  retries?: number
  fetch?: typeof fetch
}

/** What the server refused: `code` is for programs; `problem` has `field`, `details` and `request_id`. */
export class PhronesisError extends Error {
  readonly status: number
  readonly code: string
  readonly problem: Partial<Schemas["Problem"]>
  constructor(status: number, problem: Partial<Schemas["Problem"]>) {
    super(problem.detail ?? `status ${status}: what answered is no Phronesis`)
    this.name = "PhronesisError"
    this.status = status
    this.code = problem.code ?? "server.unavailable"
    this.problem = problem
  }
}

export class Phronesis {
  readonly #settings: Required<Omit<Settings, "apiKey">>
  readonly #headers: Record<string, string>

  constructor(settings: Settings = {}) {
    const { baseUrl = "http://127.0.0.1:8765", apiKey, timeoutMs = 30_000, retries = 3, fetch } = settings
    this.#settings = { baseUrl: baseUrl.replace(/\/+$/, ""), timeoutMs, retries, fetch: fetch ?? globalThis.fetch }
    this.#headers = { Accept: "application/json", ...(apiKey && { Authorization: `Bearer ${apiKey}` }) }
  }

  /** Remember a text or messages, or with `kind` one item. */
  add(content: Body<"NewMemory">["content"], options: Omit<Body<"NewMemory">, "content"> = {}, write: Write = {}) {
    return this.call("post", "/api/v1/memories", { body: { content, ...options }, ...write })
  }

  /** Search what is remembered, best first. */
  search(query: string, options: Omit<Body<"MemorySearch">, "query"> = {}) {
    return this.call("post", "/api/v1/memories/search", { body: { query, ...options } })
  }

  /** Return the context for a message, within its token budget. */
  async composeContext(
    session_id: string,
    user_message: string,
    options: Omit<Body<"ContextRequest">, "session_id" | "user_message" | "explain"> = {},
  ) {
    const body = { session_id, user_message, ...options }
    return (await this.call("post", "/api/v1/context", { body })) as Schemas["ContextSummary"]
  }

  /** Record a turn of a session: messages, or the text of one. */
  commitTurn(
    session_id: string,
    turn_events: Body<"NewTurn">["turn_events"],
    options: Omit<Body<"NewTurn">, "session_id" | "turn_events"> = {},
    write: Write = {},
  ) {
    return this.call("post", "/api/v1/turns", { body: { session_id, turn_events, ...options }, ...write })
  }

  /** Record attempts and what became of them. */
  ingest(nei: NonNullable<Body<"NewExperience">["nei"]>, options: Body<"Owner"> = {}, write: Write = {}) {
    return this.call("post", "/api/v1/experiences", { body: { nei, ...options }, ...write })
  }

  /** Ask the experience base what worked, and what did not. */
  query(situation: string, options: Omit<Body<"Question">, "situation"> = {}) {
    return this.call("post", "/api/v1/query", { body: { situation, ...options } })
  }

  /** Call any route: `call("post", "/api/v1/memories/{id}/{edit}", { path: { id, edit: "pin" } })`. */
  async call<M extends Method, P extends PathsOf<M>>(method: M, path: P, given: Given<paths[P][M]> = {}) {
    const names = (given.path ?? {}) as Record<string, string>
    const url = new URL(this.#settings.baseUrl + path.replace(/\{(\w+)\}/g, (_, name) => segment(name, names[name])))
    for (const [name, value] of Object.entries(given.query ?? {}))
      for (const one of Array.isArray(value) ? value : [value]) if (one != null) url.searchParams.append(name, `${one}`)
    const headers: Record<string, string> = { ...this.#headers }
    if (given.body !== undefined) headers["Content-Type"] = "application/json"
    if (method !== "get") headers["Idempotency-Key"] = given.idempotencyKey ?? crypto.randomUUID()
    if (given.version !== undefined) headers["If-Match"] = `"${given.version}"`
    const body = given.body === undefined ? null : JSON.stringify(given.body)
    const response = await this.#send(url, { method: method.toUpperCase(), headers, body }, method !== "delete")
    if (response.ok) return (await response.json()) as ResultOf<paths[P][M]>
    throw new PhronesisError(response.status, await response.json().catch(() => ({})))
  }

  /** Send a request; a deletion is repeated only if the server says that it did nothing. */
  async #send(url: URL, request: RequestInit, repeatable: boolean): Promise<Response> {
    const { fetch, retries, timeoutMs } = this.#settings
    for (let tried = 0; ; tried++) {
      let pause = 200 * 2 ** tried * (1 + Math.random())
      try {
        const response = await fetch(url, { ...request, signal: AbortSignal.timeout(timeoutMs) })
        const asked = Number(response.headers.get("Retry-After")) * 1000 || 0
        if (tried >= retries || asked > 60_000 || !mayRetry(response, repeatable)) return response
        pause = Math.max(pause, asked)
        await response.body?.cancel()
      } catch (error) {
        if (!repeatable || tried >= retries || !(error instanceof TypeError)) throw error // a TypeError: no connection
      }
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
  }
}

/** Whether to repeat a call: a proxy's server is away, or ours says when to come again. Every write has its key. */
function mayRetry(response: Response, repeatable: boolean): boolean {
  const ours = response.headers.get("Content-Type")?.startsWith("application/problem+json")
  if (response.status === 429 || (ours && response.headers.has("Retry-After"))) return true
  return repeatable && !ours && [502, 503, 504].includes(response.status)
}

function segment(name: string, value: string | undefined): string {
  if (!value || value === "." || value === "..") throw new RangeError(`${name} ${value} cannot be part of a URL`)
  return encodeURIComponent(value)
}
