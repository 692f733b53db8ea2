// Memory for opencode. `phronesis install opencode` writes this file, and `phronesis uninstall opencode` removes it.
import { spawn } from "node:child_process"

const PROGRAM = __PROGRAM__
const OPTIONS = __OPTIONS__

// Call a hook: its answer is text for the model, empty if there is none. A hook that fails never stops opencode.
function hook(event, payload) {
  return new Promise((resolve) => {
    const child = spawn(PROGRAM[0], [...PROGRAM.slice(1), "hook", event, "--host", "opencode", ...OPTIONS], {
      stdio: ["pipe", "pipe", "ignore"],
      timeout: 20000,
    })
    let answer = ""
    child.stdout.on("data", (chunk) => (answer += chunk))
    child.on("error", () => resolve(""))
    child.on("close", () => {
      try {
        resolve(JSON.parse(answer).hookSpecificOutput?.additionalContext ?? "")
      } catch {
        resolve("")
      }
    })
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(payload))
  })
}

function textOf(parts) {
  return parts.flatMap((part) => (part.type === "text" && !part.synthetic ? [part.text] : [])).join("\n")
}

export const Phronesis = async ({ client, directory }) => {
  const started = new Set()
  const base = (sessionID) => ({ session_id: sessionID, cwd: directory })
  return {
    // What is recalled becomes a part of the message, so that the prompt before it stays as it is and in the cache.
    "chat.message": async (input, output) => {
      const prompt = textOf(output.parts)
      if (!prompt.trim()) return
      const texts = []
      if (!started.has(input.sessionID)) texts.push(await hook("session-start", base(input.sessionID)))
      started.add(input.sessionID)
      texts.push(await hook("prompt", { ...base(input.sessionID), prompt, prompt_id: output.message?.id }))
      const text = texts.filter(Boolean).join("\n\n")
      if (!text) return
      const place = { id: `prt_phronesis${Date.now()}`, sessionID: input.sessionID, messageID: output.message?.id }
      output.parts.push({ ...place, type: "text", text, synthetic: true })
    },
    "tool.execute.after": async (input, output) => {
      const result = { output: output.output, exit_code: output.metadata?.exit }
      const call = { tool_name: input.tool, tool_input: input.args, tool_use_id: input.callID, tool_response: result }
      const lesson = await hook("post-tool", { ...base(input.sessionID), ...call })
      if (lesson) output.output = `${output.output}\n\n${lesson}`
    },
    "experimental.session.compacting": async (input, output) => {
      await hook("pre-compact", base(input.sessionID))
      const text = await hook("session-start", { ...base(input.sessionID), source: "compact" })
      if (text) output.context.push(text)
    },
    event: async ({ event }) => {
      if (event.type !== "session.idle") return
      const sessionID = event.properties.sessionID
      const messages = (await client.session.messages({ path: { id: sessionID } })).data ?? []
      const reply = messages.filter((message) => message.info.role === "assistant").at(-1)
      if (reply) await hook("stop", { ...base(sessionID), last_assistant_message: textOf(reply.parts) })
    },
  }
}
