import { limits } from "@countersign/contract";
import { validateContext } from "@countersign/core";
import {
  getContextSource,
  registerContextSource,
  removeContextSource,
} from "../../operations/context/context-source.ts";
import { deleteContext, getContext, putContext } from "../../operations/context/stored-context.ts";
import type { Runtime } from "../../operations/runtime.ts";
import type { Caller } from "../../operations/shared/caller.ts";
import type { ContextSubject } from "../../store/context/stored-context.ts";
import type { Answer, Handlers } from "../handler.ts";

type ContextHandlers = Pick<
  Handlers,
  | "validateContext"
  | "putOrgContext"
  | "getOrgContext"
  | "deleteOrgContext"
  | "putAgentContext"
  | "getAgentContext"
  | "deleteAgentContext"
  | "putTargetContext"
  | "getTargetContext"
  | "deleteTargetContext"
  | "putContextSource"
  | "getContextSource"
  | "deleteContextSource"
>;

export function contextRoutes(runtime: Runtime): ContextHandlers {
  const org: ContextSubject = { scope: "org" };
  const agent = (params: { agent_id: string }): ContextSubject => ({ scope: "agent", ...params });
  const target = (params: { type: string; identifier: string }): ContextSubject => ({ scope: "target", ...params });

  async function put(caller: Caller, subject: ContextSubject, body: Parameters<typeof putContext>[3]): Promise<Answer> {
    return { status: 200, body: { context: await putContext(runtime, caller, subject, body) } };
  }
  async function get(caller: Caller, subject: ContextSubject): Promise<Answer> {
    return { status: 200, body: { context: await getContext(runtime, caller, subject) } };
  }
  async function remove(caller: Caller, subject: ContextSubject): Promise<Answer> {
    await deleteContext(runtime, caller, subject);
    return { status: 204 };
  }

  return {
    async validateContext({ body, body_problems }) {
      const found = validateContext(body, runtime.clock.now_us());
      const errors = [...body_problems, ...found.errors].slice(0, limits.error_details_max);
      const warnings = errors.length === 0 ? found.warnings : [];
      return { status: 200, body: { valid: errors.length === 0, errors, warnings } };
    },
    putOrgContext: ({ caller, body }) => put(caller, org, body),
    getOrgContext: ({ caller }) => get(caller, org),
    deleteOrgContext: ({ caller }) => remove(caller, org),
    putAgentContext: ({ caller, params, body }) => put(caller, agent(params), body),
    getAgentContext: ({ caller, params }) => get(caller, agent(params)),
    deleteAgentContext: ({ caller, params }) => remove(caller, agent(params)),
    putTargetContext: ({ caller, params, body }) => put(caller, target(params), body),
    getTargetContext: ({ caller, params }) => get(caller, target(params)),
    deleteTargetContext: ({ caller, params }) => remove(caller, target(params)),
    async putContextSource({ caller, body }) {
      return { status: 200, body: { source: await registerContextSource(runtime, caller, body) } };
    },
    async getContextSource({ caller }) {
      return { status: 200, body: { source: await getContextSource(runtime, caller) } };
    },
    async deleteContextSource({ caller }) {
      await removeContextSource(runtime, caller);
      return { status: 204 };
    },
  };
}
