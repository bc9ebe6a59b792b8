// Written by `reasoningbank install opencode`; `reasoningbank uninstall opencode` removes it.
// Calls: {{line}} --event EVENT
// Whatever goes wrong in here costs the advice and nothing else.
import { spawn, spawnSync } from "node:child_process"

const COMMAND = ["{{call}}"]
const LIMIT_MS = 5000
// What OpenCode marks the shells of its agent with: a hook that has the mark was started there, and not by this plugin.
const { OPENCODE, OPENCODE_PID, AGENT, ...env } = process.env
const CHANGING = /^(bash|edit|multiedit|write|patch|apply_patch)$/

const running = new Set()

function ask(event, payload) {
  return new Promise((resolve) => {
    let said = ""
    try {
      const [program, ...words] = COMMAND
      const child = spawn(program, [...words, "--event", event], { env, stdio: ["pipe", "pipe", "ignore"] })
      running.add(child)
      const timer = setTimeout(() => child.kill(), LIMIT_MS)
      child.on("error", () => {
        clearTimeout(timer)
        resolve({})
      })
      child.stdin.on("error", () => {})
      child.stdout.on("data", (part) => (said += part))
      child.on("close", () => {
        running.delete(child)
        clearTimeout(timer)
        try {
          resolve(JSON.parse(said))
        } catch {
          resolve({})
        }
      })
      child.stdin.end(JSON.stringify(payload))
    } catch {
      resolve({})
    }
  })
}

const named = (args) => ({
  ...args,
  ...(args?.filePath && { file_path: args.filePath }),
  ...(args?.patchText && { command: args.patchText }),
})

const words = (parts) =>
  parts.filter((part) => part.type === "text" && !part.synthetic && !part.ignored).map((part) => part.text).join("\n")

export const ReasoningBank = async ({ client, directory }) => {
  const started = new Set()
  const compacted = new Set()
  const parents = new Map()

  const call = async (event, session, more) => {
    const answer = await ask(event, {
      session_id: session,
      cwd: directory,
      hook_event_name: event,
      agent_id: parents.get(session) ?? "",
      ...more,
    })
    try {
      if (answer.systemMessage) await client.tui.showToast({ body: { message: answer.systemMessage, variant: "info" } })
    } catch {}
    return answer.hookSpecificOutput ?? {}
  }

  const start = async (session) => {
    if (started.has(session)) return ""
    started.add(session)
    const source = compacted.delete(session) ? "compact" : "startup"
    return (await call("SessionStart", session, { source })).additionalContext ?? ""
  }

  return {
    dispose: async () => {
      // Nobody waits for what is left then, so it is done at once, and has the last word.
      for (const child of running) child.kill()
      const [program, ...words] = COMMAND
      for (const session of started) {
        const input = JSON.stringify({ session_id: session, cwd: directory })
        const options = { env, input, timeout: LIMIT_MS, stdio: ["pipe", "ignore", "ignore"] }
        spawnSync(program, [...words, "--event", "SessionEnd"], options)
      }
    },
    event: async ({ event }) => {
      const session = event.properties?.sessionID ?? event.properties?.info?.id
      if (event.type === "session.created" && event.properties.info?.parentID) parents.set(session, event.properties.info.parentID)
      if (event.type === "session.compacted" && started.delete(session)) compacted.add(session)
      if (event.type === "session.idle" && !parents.has(session)) await call("Stop", session, {})
      if (event.type === "session.deleted") await call("SessionEnd", session, {})
    },
    "chat.message": async ({ sessionID }, { message, parts }) => {
      // What a subagent is asked, nobody typed.
      if (parents.has(sessionID)) return
      const prompt = words(parts)
      const texts = [await start(sessionID), (await call("UserPromptSubmit", sessionID, { prompt })).additionalContext]
      const text = texts.filter(Boolean).join("\n\n")
      if (!text) return
      // Parts are read in the order of their ids: after what the user said.
      parts.push({ id: `${parts.at(-1)?.id ?? "prt_"}z`, sessionID, messageID: message.id, type: "text", text, synthetic: true })
    },
    "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
      if (!CHANGING.test(tool)) return
      const told = await call("PreToolUse", sessionID, { tool_name: tool, tool_input: named(args), tool_use_id: callID })
      if (told.permissionDecision === "deny") throw new Error(told.permissionDecisionReason)
    },
    "tool.execute.after": async ({ tool, sessionID, callID, args }, result) => {
      if (!CHANGING.test(tool) || typeof result.output !== "string") return
      const tool_response = { output: result.output, exit_code: result.metadata?.exit }
      const told = await call("PostToolUse", sessionID, { tool_name: tool, tool_input: named(args), tool_use_id: callID, tool_response })
      if (told.additionalContext) result.output += `\n\n${told.additionalContext}`
    },
  }
}
