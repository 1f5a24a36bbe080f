export {
  anyOf,
  BOOL,
  BYTES,
  DOUBLE,
  DYN,
  type Field,
  INT,
  listOf,
  mapOf,
  objectOf,
  opaque,
  parameter,
  STRING,
  TIMESTAMP,
  type Type,
} from "./check/type.ts";
export type { Frame as EvaluationContext, Now } from "./compile/frame.ts";
export type { Size } from "./cost/size.ts";
export {
  CelCheckError,
  CelSyntaxError,
  type Diagnostic,
  type DiagnosticCode,
  formatDiagnostic,
} from "./diagnostics.ts";
export { type Environment, environment, type HostFunction } from "./environment.ts";
export type { CallContext } from "./library.ts";
export type { Budget, EvaluateOptions, Program, Result } from "./program.ts";
export type { Expr } from "./syntax/ast.ts";
export { parse } from "./syntax/parser.ts";
export { Duration } from "./value/duration.ts";
export { LazyObject, lazy, type Thunk } from "./value/lazy.ts";
export { Timestamp } from "./value/timestamp.ts";
export { type Cause, isAbsence, nullFact, type Reason, Unknown, unknown } from "./value/unknown.ts";
export { CelMap, Uint } from "./value/value.ts";
