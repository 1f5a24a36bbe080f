/** Holds every answer that a test gets against openapi.json: status, headers and body. */
import { openapiDocument, operationRows, problemCodes, type RefusalRow, refusalCodes } from "@countersign/contract";
import { parseTimestampUs } from "@countersign/core";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";

/** An answer as a client sees it. */
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

/** Times that the service writes itself, as opposed to those that it was given. */
const ownTime = "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{6}Z$";

// Through text and back: `$ref`s stay, and every time that the service writes gets its pattern.
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

/** Paths without parameters first, as the router has it. */
const rows = operationRows
  .map(([id, operation]) => ({
    id,
    operation,
    pattern: new RegExp(`^${operation.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
  }))
  .sort((a, b) => a.operation.path.split("{").length - b.operation.path.split("{").length);

/** Headers that an answer of an operation carries only sometimes. */
const sometimes: ReadonlySet<string> = new Set(["X-Service-Key-Expired", "Idempotent-Replayed"]);

/** Bases of nodes whose operations are stand-ins: only what the gate answers is the service's own there. */
const standIns = new Set<string>();

/** Marks a node as one of stand-ins. */
export function exemptStandIns(base: string): void {
  standIns.add(base);
}

const compiled = new Map<string, ValidateFunction>();

/** Throws when the answer is not one that openapi.json describes. Requests of no operation are let be. */
export function checkAnswer(base: string, method: string, target: string, answer: SeenAnswer): void {
  const path = target.split("?", 1)[0] as string;
  const own = rows.filter((each) => each.operation.path === path);
  const row = (own.length > 0 ? own : rows).find((each) => each.operation.method === method && each.pattern.test(path));
  // What the parser refuses has reached no operation.
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
  const [media_type] = Object.keys(response.content ?? {});
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
  if (answer.status >= 400 && named !== answer.headers.get("x-request-id"))
    throw new Error(`${said}: error.request_id ${named} is not X-Request-Id ${answer.headers.get("x-request-id")}`);
}

/** Whether docs/reference/errors.md says what the code of a detail means. What is wrong with a policy has codes of its own. */
function isDocumented(status: number, error: string | undefined, code = ""): boolean {
  if (status === 400) return Object.hasOwn(problemCodes, code);
  if (code === "" || error === "policy_invalid") return true;
  const row: RefusalRow | undefined = (refusalCodes as Readonly<Record<string, RefusalRow>>)[code];
  return row?.statuses.includes(status) ?? false;
}

function pointer(name: string): string {
  return encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"));
}
