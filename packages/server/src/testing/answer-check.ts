/** Checks every answer in the tests against openapi.json: status, headers and body. */
import {
  openapiDocument,
  operationRows,
  problemCodes,
  type RefusalRow,
  refusalCodes,
  tokenProblems,
} from "@countersign/contract";
import { parseTimestampUs } from "@countersign/core";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";

interface SeenAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

interface ResponseObject {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

const ownTime = "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{6}Z$";

// Every time of the service gets its pattern.
const document = JSON.parse(JSON.stringify(openapiDocument()), (_, value) =>
  value?.format === "date-time" && value.maxLength === 27 ? { ...value, pattern: ownTime } : value,
) as {
  readonly paths: Record<string, Record<string, { responses: Record<string, ResponseObject> }>>;
  readonly components: { readonly responses: Record<string, ResponseObject>; readonly headers: object };
};

const ajv = new Ajv2020({ strict: false, allErrors: true });
formats.default(ajv, ["date", "email", "uri"]);
ajv.addFormat("date-time", (text) => parseTimestampUs(text) !== null);
ajv.addSchema(document, "openapi");

/** As in the router. */
const rows = operationRows
  .map(([id, operation]) => ({
    id,
    operation,
    pattern: new RegExp(`^${operation.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
  }))
  .sort((a, b) => a.operation.path.split("{").length - b.operation.path.split("{").length);

/** Headers that only some answers of an operation have. */
const sometimes: ReadonlySet<string> = new Set(["X-Service-Key-Expired", "Idempotent-Replayed"]);

/** Nodes with stand-in operations. Only answers of the gate are the service's own there. */
const standIns = new Set<string>();

export function exemptStandIns(base: string): void {
  standIns.add(base);
}

const compiled = new Map<string, ValidateFunction>();

/** Throws if openapi.json does not describe the answer. Ignores requests without an operation. */
export function checkAnswer(base: string, method: string, target: string, answer: SeenAnswer): void {
  const path = target.split("?", 1)[0] as string;
  const own = rows.filter((each) => each.operation.path === path);
  const row = (own.length > 0 ? own : rows).find((each) => each.operation.method === method && each.pattern.test(path));
  const unparsed = answer.status === 431 || answer.status === 408;
  if (row === undefined || unparsed || (answer.status < 400 && standIns.has(base))) return;
  const { id, operation } = row;
  const said = `${id} answered ${answer.status}`;
  const where = `paths/${pointer(operation.path)}/${method.toLowerCase()}/responses/${answer.status}`;
  const given = document.paths[operation.path]?.[method.toLowerCase()]?.responses[answer.status];
  if (given === undefined) throw new Error(`${said}, which openapi.json does not say: ${answer.text.slice(0, 500)}`);
  const name = given.$ref?.split("/").at(-1);
  const response = name === undefined ? given : (document.components.responses[name] as ResponseObject);
  for (const header of Object.keys(response.headers ?? {})) {
    if (answer.headers.get(header) === null && !sometimes.has(header)) throw new Error(`${said} without ${header}`);
  }
  for (const header of Object.keys(document.components.headers)) {
    if (answer.headers.get(header) !== null && response.headers?.[header] === undefined)
      throw new Error(`${said} with ${header}, which openapi.json does not say`);
  }
  const types = Object.keys(response.content ?? {});
  const media_type = types.find((type) => answer.headers.get("content-type")?.startsWith(type) === true) ?? types[0];
  if (media_type === undefined) {
    if (answer.text !== "") throw new Error(`${said} with a body: ${answer.text.slice(0, 500)}`);
    return;
  }
  if (answer.headers.get("content-type")?.startsWith(media_type) !== true)
    throw new Error(`${said} as ${answer.headers.get("content-type")}`);
  if (media_type !== "application/json") return;
  const place = name === undefined ? where : `components/responses/${pointer(name)}`;
  let validate = compiled.get(place);
  if (validate === undefined) {
    validate = ajv.compile({ $ref: `openapi#/${place}/content/application~1json/schema` });
    compiled.set(place, validate);
  }
  const body = JSON.parse(answer.text) as {
    readonly error?: {
      readonly code: string;
      readonly request_id?: string;
      readonly details: readonly { readonly code?: string }[];
    };
  };
  if (!validate(body))
    throw new Error(`${said} with ${JSON.stringify(validate.errors)}: ${answer.text.slice(0, 1_000)}`);
  const odd = body.error?.details.find((detail) => !isDocumented(answer.status, body.error?.code, detail.code));
  if (odd !== undefined)
    throw new Error(`${said} with ${JSON.stringify(odd)}, of which docs/reference/errors.md says nothing`);
  const named = body.error?.request_id;
  if (answer.status >= 400 && operation.standard !== "authzen" && named !== answer.headers.get("x-request-id"))
    throw new Error(`${said}: error.request_id ${named} is not X-Request-Id ${answer.headers.get("x-request-id")}`);
}

/** Problems of policies have their own codes. */
function isDocumented(status: number, error: string | undefined, code = ""): boolean {
  if (status === 400) return Object.hasOwn(error === "invalid_agent_token" ? tokenProblems : problemCodes, code);
  if (code === "" || error === "policy_invalid") return true;
  const row: RefusalRow | undefined = (refusalCodes as Readonly<Record<string, RefusalRow>>)[code];
  return row?.statuses.includes(status) ?? false;
}

function pointer(name: string): string {
  return encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"));
}
