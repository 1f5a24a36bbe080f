export {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  type Field,
  INT,
  listOf,
  mapOf,
  NULL,
  objectOf,
  opaque,
  optionalOf,
  parameter,
  STRING,
  TIMESTAMP,
  type Type,
  typeName,
  UINT,
} from "./check/type.ts";
export type { Frame as EvaluationContext, Now } from "./compile/frame.ts";
export type { Estimate, SizeOf } from "./cost/estimate.ts";
export type { Size } from "./cost/size.ts";
export {
  CelCheckError,
  CelSyntaxError,
  type Diagnostic,
  type DiagnosticCode,
  formatDiagnostic,
  type Severity,
} from "./diagnostics.ts";
export {
  type CheckResult,
  type Environment,
  type EnvironmentOptions,
  type ExpressionOptions,
  environment,
  type HostFunction,
} from "./environment.ts";
export type { CallContext } from "./library.ts";
export { BUDGET_DEFAULT, type Budget, type EvaluateOptions, type Program, type Result } from "./program.ts";
export { type Ast, type Expr, LIMITS } from "./syntax/ast.ts";
export { parse } from "./syntax/parser.ts";
export { Duration, parseDuration } from "./value/duration.ts";
export { LazyObject, lazy, type Thunk } from "./value/lazy.ts";
export { parseTimestamp, Timestamp, timestampFromMilliseconds } from "./value/timestamp.ts";
export {
  type Cause,
  Failure,
  isAbsence,
  isNonValue,
  nullFact,
  type Reason,
  Unknown,
  unknown,
} from "./value/unknown.ts";
export { CelMap, Optional, TypeValue, Uint, type Value } from "./value/value.ts";
