import type { IntentSubmission } from "@countersign/contract";
import { answerClaudeCodeHook } from "../../../operations/intents/answer-claude-code-hook.ts";
import type { Runtime } from "../../../operations/runtime.ts";
import type { Handlers } from "../../handler.ts";
import { ClientGone } from "../../request/body.ts";
import { agentTokenOf } from "../intents.ts";

export function hookRoutes(
  runtime: Runtime,
  check: (submission: IntentSubmission) => void,
): Pick<Handlers, "answerClaudeCodeHook"> {
  return {
    async answerClaudeCodeHook({ caller, body, query, headers, client_ip, left }) {
      const gone = left();
      const request = { input: body, query, check, gone, agent_token: agentTokenOf(headers), client_ip };
      const { answer, pending } = await answerClaudeCodeHook(runtime, caller, request);
      if (gone.aborted) throw new ClientGone();
      return { status: pending ? 202 : 200, body: answer };
    },
  };
}
