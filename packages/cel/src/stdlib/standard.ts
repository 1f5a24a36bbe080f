import { ENCODERS } from "../ext/encoders.ts";
import { MATH } from "../ext/math.ts";
import { OPTIONAL } from "../ext/optional.ts";
import { STRINGS } from "../ext/strings.ts";
import type { FunctionDeclaration } from "../library.ts";
import { CONVERSIONS } from "./conversions.ts";
import { CORE } from "./core.ts";
import { TIME } from "./time.ts";

export const STANDARD: readonly FunctionDeclaration[] = [
  ...CORE,
  ...CONVERSIONS,
  ...TIME,
  ...STRINGS,
  ...MATH,
  ...OPTIONAL,
  ...ENCODERS,
];
