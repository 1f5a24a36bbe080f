import { type ContextDocument, type IntentSubmission, tool_change_action_type } from "@countersign/contract";
import { isObject, type JsonObject, metaKeys, metaOf } from "../protocol/messages.ts";
import type { KnownTool } from "../tools/known-tools.ts";

export interface SubmissionOptions {
  /** Null: use the client's name. */
  readonly agent_id: string | null;
  readonly session_id: string;
  readonly parent_id?: string | undefined;
  readonly membrane_id?: string | undefined;
  readonly context?: ContextDocument | undefined;
  /** Trust the server's annotations: which tools only read, and which may destroy. */
  readonly trust_annotations: boolean;
}

/** Equals `limits.agent_id_chars_max`. */
const agent_id_chars_max = 128;

/** Equals `unnamed_agent_id`. Rules that name agents are unknown for this one. */
const unnamed_agent_id = "unnamed";

/** For reads. The protocol says that they change nothing. */
export const readingTool: KnownTool = { title: null, reads_only: true, destroys: false };

/** Builds submissions. Remembers the first name that each side gave. */
export class Submissions {
  readonly #options: SubmissionOptions;
  #client_name: string | null = null;
  #server_name: string | null = null;

  constructor(options: SubmissionOptions) {
    this.#options = options;
  }

  clientIs(clientInfo: JsonObject[string] | undefined): void {
    this.#client_name ??= nameIn(clientInfo);
  }

  serverSays(result: JsonObject): void {
    this.#server_name ??= nameIn(metaOf(result)[metaKeys.server]);
  }

  serverIs({ serverInfo }: JsonObject): void {
    this.#server_name ??= nameIn(serverInfo);
  }

  /** A name in the call's `_meta` counts for this call only. */
  agentId(meta: JsonObject): string {
    return this.#options.agent_id ?? nameIn(meta[metaKeys.client]) ?? this.#client_name ?? unnamed_agent_id;
  }

  /** Asks people to accept the changed definition of a tool. */
  toolChange(tool: string, change: JsonObject, meta: JsonObject): IntentSubmission {
    const title = `Use the tool ${tool} although its server changed its definition`;
    const action = { verb: "accept_tool_change", type: tool_change_action_type };
    return this.of(action, { title, reads_only: false, destroys: true }, { tool, ...change }, meta);
  }

  /** Without a type, the membrane's action catalogue knows the verb's type. */
  of(
    { verb, type }: { readonly verb: string; readonly type?: string | undefined },
    { title, reads_only, destroys }: KnownTool,
    content: JsonObject,
    meta: JsonObject,
  ): IntentSubmission {
    const { trust_annotations, membrane_id, session_id, parent_id, context: given } = this.#options;
    const id = this.agentId(meta);
    const context = trust_annotations ? withSideEffect(given, !reads_only) : given;
    const identifier = this.#server_name === null ? {} : { identifier: this.#server_name };
    return {
      intent: {
        agent: { id, framework: "mcp", session_id, ...(parent_id !== undefined && { parent: parent_id }) },
        action: { ...(type !== undefined && { type }), verb, target: { type: "mcp_server", ...identifier } },
        payload: { content, ...(title !== null && { summary: title }) },
        ...(trust_annotations && { estimated_impact: { reversible: !destroys } }),
      },
      ...(context !== undefined && { context }),
      ...(membrane_id !== undefined && { membrane_id }),
    };
  }
}

/** Returns the trimmed name, cut to the maximum length of an agent's id; null if nothing remains. */
function nameIn(about: JsonObject[string] | undefined): string | null {
  const name = isObject(about) ? about["name"] : null;
  if (typeof name !== "string") return null;
  const cut = name
    .trim()
    .slice(0, agent_id_chars_max)
    .replace(/[\ud800-\udbff]$/, "");
  return cut.trim() === "" ? null : cut.trim();
}

function withSideEffect(context: ContextDocument | undefined, side_effect: boolean): ContextDocument {
  const { facts = {}, ...others } = context ?? {};
  return { contract_version: "1", ...others, facts: { ...facts, security: { ...facts.security, side_effect } } };
}
