import {
  type CelValue,
  celEnv,
  isCelError,
  isCelList,
  isCelMap,
  isCelType,
  isCelUint,
  parse as parseThere,
  plan,
} from "@bufbuild/cel";
import { isReflectMessage } from "@bufbuild/protobuf/reflect";
import { CelSyntaxError } from "../src/diagnostics.ts";
import { DYN, environment } from "../src/index.ts";
import { Duration } from "../src/value/duration.ts";
import { mapGet, mapKeys } from "../src/value/equal.ts";
import { Timestamp } from "../src/value/timestamp.ts";
import { NonValue } from "../src/value/unknown.ts";
import { isMap, TypeValue, Uint, type Value } from "../src/value/value.ts";
import { BINDINGS } from "./expressions.ts";

const variables = Object.fromEntries(Object.keys(BINDINGS).map((name) => [name, DYN]));
const here = environment({ variables });
const there = celEnv();

export function compare(source: string): { readonly ours: string; readonly theirs: string } {
  return { ours: ours(source), theirs: theirs(source) };
}

function ours(source: string): string {
  try {
    const value = here.compileUnchecked(source).resolve(here.begin(BINDINGS));
    return value instanceof NonValue ? "error" : write(value);
  } catch (e) {
    if (e instanceof CelSyntaxError) return "syntax";
    throw e;
  }
}

function theirs(source: string): string {
  let program: (bindings: never) => unknown;
  try {
    program = plan(there, parseThere(source)) as (bindings: never) => unknown;
  } catch {
    // The other engine throws plain errors for sources it cannot parse.
    return "syntax";
  }
  try {
    const value = program(BINDINGS as never);
    return isCelError(value) ? "error" : writeTheirs(value as CelValue);
  } catch {
    // The other engine also throws for some mistakes during evaluation.
    return "error";
  }
}

function number(n: number): string {
  return Object.is(n, -0) ? "0" : String(n);
}

function write(v: Value): string {
  if (v === null || typeof v === "boolean") return String(v);
  if (typeof v === "bigint") return `int ${v}`;
  if (typeof v === "number") return `double ${number(v)}`;
  if (typeof v === "string") return JSON.stringify(v);
  if (v instanceof Uint) return `uint ${v.unsigned}`;
  if (v instanceof Uint8Array) return `bytes ${Buffer.from(v).toString("hex")}`;
  if (v instanceof Timestamp || v instanceof Duration)
    return `${v.constructor.name.toLowerCase()} ${v.seconds} ${v.nanos}`;
  if (v instanceof TypeValue) return `type ${v.typeName}`;
  if (Array.isArray(v)) return `[${v.map((x) => write(x as Value)).join(", ")}]`;
  if (isMap(v))
    return `{${mapKeys(v)
      .map((k) => `${write(k)}: ${write(mapGet(v, k) as Value)}`)
      .sort()
      .join(", ")}}`;
  return "?";
}

function writeTheirs(v: CelValue): string {
  if (v === null || typeof v === "boolean") return String(v);
  if (typeof v === "bigint") return `int ${v}`;
  if (typeof v === "number") return `double ${number(v)}`;
  if (typeof v === "string") return JSON.stringify(v);
  if (isCelUint(v)) return `uint ${v.value}`;
  if (v instanceof Uint8Array) return `bytes ${Buffer.from(v).toString("hex")}`;
  if (isCelType(v)) return `type ${v.name}`;
  if (isCelList(v)) return `[${[...v].map(writeTheirs).join(", ")}]`;
  if (isCelMap(v))
    return `{${[...v.entries()]
      .map(([k, x]) => `${writeTheirs(k as CelValue)}: ${writeTheirs(x)}`)
      .sort()
      .join(", ")}}`;
  if (isReflectMessage(v)) {
    const message = v.message as unknown as { readonly seconds: bigint; readonly nanos: number };
    return `${v.desc.name.toLowerCase()} ${message.seconds} ${message.nanos}`;
  }
  return "?";
}
