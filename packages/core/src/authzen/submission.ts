/** Translates an AuthZEN evaluation into an intent. See docs/decisions/0049-authzen.md. */
import {
  type AccessEvaluation,
  type AccessEvaluations,
  type ContextDocument,
  context_contract_version,
  type IntentSubmission,
} from "@countersign/contract";
import { faultAt } from "../fault.ts";
import { isRecord } from "../functions/text.ts";
import { canonicalJson } from "../values/canonical-json.ts";
import { sha256Hex } from "../values/fingerprint.ts";

/** The member of payload.content for what an intent has no field for. */
export const authzen_content = "authzen";

/** Members of `context` that tell the service what to do. All others are facts about the request. */
const instructions: ReadonlySet<string> = new Set(["facts", "approval", "capabilities"]);

/**
 * Returns the submission of an evaluation: subject → agent, action.name → verb, resource → target, action.properties →
 * the parameters. Faults: invalid_request (a parameter with the reserved name).
 */
export function authzenSubmission(evaluation: AccessEvaluation, membrane_id: string | undefined): IntentSubmission {
  const { subject, action, resource } = evaluation;
  const parameters = action.properties ?? {};
  if (Object.hasOwn(parameters, authzen_content)) {
    const message = "Rename this property: the service has the subject and the resource under this name.";
    throw faultAt("invalid_request", `/action/properties/${authzen_content}`, "not_allowed", message);
  }
  const context = contextOf(evaluation.context);
  const access = {
    subject: { type: subject.type, properties: subject.properties ?? {} },
    resource: { type: resource.type, id: resource.id, properties: resource.properties ?? {} },
  };
  return {
    intent: {
      agent: { id: subject.id, framework: "authzen" },
      action: { verb: action.name, target: { type: resource.type, identifier: resource.id } },
      payload: { content: { ...parameters, [authzen_content]: access } },
    },
    ...(context !== undefined && { context }),
    ...(membrane_id !== undefined && { membrane_id }),
  };
}

/** `facts` keeps its categories. The other members of the context are one fact, so that their names can be any text. */
function contextOf(context: AccessEvaluation["context"]): ContextDocument | undefined {
  if (context === undefined) return undefined;
  const about = Object.fromEntries(Object.entries(context).filter(([name]) => !instructions.has(name)));
  const { facts } = context;
  const has_more = Object.keys(about).length > 0;
  if (facts === undefined && !has_more) return undefined;
  const contract_version = context_contract_version;
  // Checked with the submission, so any value passes here.
  if (!has_more || (facts !== undefined && !isRecord(facts)))
    return { contract_version, facts: facts as ContextDocument["facts"] };
  const environmental = facts?.["environmental"];
  if (environmental !== undefined && !isRecord(environmental)) return { contract_version, facts: facts ?? {} };
  return { contract_version, facts: { ...facts, environmental: { ...environmental, request_context: about } } };
}

/** Returns the hash that identical evaluations share. Members that the standard does not define do not count. */
export function authzenIdentity(evaluation: AccessEvaluation, membrane_id: string | undefined): string {
  const { subject, action, resource, context = {} } = evaluation;
  return sha256Hex(
    canonicalJson({
      subject: { type: subject.type, id: subject.id, properties: subject.properties ?? {} },
      action: { name: action.name, properties: action.properties ?? {} },
      resource: { type: resource.type, id: resource.id, properties: resource.properties ?? {} },
      context,
      membrane_id: membrane_id ?? null,
    }),
  );
}

/** Returns the approval that the caller wants to use: an override, a grant or a review. Null: none. */
export function namedApproval({ context }: AccessEvaluation): string | null {
  const approval = context?.["approval"];
  return isRecord(approval) && typeof approval["id"] === "string" ? approval["id"] : null;
}

export function obeysObligations({ context }: AccessEvaluation): boolean {
  const capabilities = context?.["capabilities"];
  return Array.isArray(capabilities) && capabilities.includes("obligations");
}

const entities = ["subject", "action", "resource", "context"] as const;

/** Returns an evaluation of a list with its defaults. A member replaces the whole default. */
export function withDefaults(request: AccessEvaluations, evaluation: unknown): unknown {
  if (!isRecord(evaluation)) return evaluation;
  const defaults = entities.flatMap((name) => (request[name] === undefined ? [] : [[name, request[name]]]));
  return { ...Object.fromEntries(defaults), ...evaluation };
}
