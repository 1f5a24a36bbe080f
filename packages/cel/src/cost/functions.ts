import { pattern, pattern_max } from "../stdlib/regex.ts";
import type { Expr } from "../syntax/ast.ts";
import { chars_a_unit } from "../value/equal.ts";
import { type Bounds, containing, either, finite, SCALAR, type Size, textOf } from "./size.ts";

/** Estimate without the call's own node. */
export interface CallEstimate {
  readonly work: number;
  readonly size: Size;
}

const free = (size: Size): CallEstimate => ({ work: 0, size });

/** Length of the longest number, time or type name. */
const scalar_chars = 64;

const PROGRAM_MAX = pattern_max * 1_000;

/**
 * Returns the charge and result size for arguments of these sizes (receiver first); undefined if `name` is no library
 * function. Must mirror the charges in stdlib/ and ext/.
 */
export function libraryCall(
  name: string,
  sizes: readonly Size[],
  args: readonly Expr[],
  bounds: Bounds,
): CallEstimate | undefined {
  const [a = SCALAR, b = SCALAR, c = SCALAR] = sizes;
  switch (name) {
    case "size":
      return { work: a.chars / 64 + a.items, size: SCALAR };
    case "startsWith":
    case "endsWith":
      return { work: bounds.least(a.chars, b.chars) / chars_a_unit, size: SCALAR };
    case "bool":
    case "int":
    case "uint":
    case "double":
    case "timestamp":
    case "duration":
      return free(SCALAR);
    case "type":
      return free(textOf(scalar_chars));
    case "dyn":
    case "optional.of":
      return free(containing([a], bounds));
    case "optional.ofNonZeroValue":
      return { work: a.items, size: containing([a], bounds) };
    case "optional.none":
    case "hasValue":
      return free(SCALAR);
    case "value":
      return free(a);
    case "or":
    case "orValue":
      return free(either(a, b, bounds));
    case "contains":
      return { work: a.chars / 64, size: SCALAR };
    case "matches":
      return { work: matchWork(a, args.at(-1)), size: SCALAR };
    case "string":
      return { work: a.chars / 16, size: textOf(Math.max(a.chars, scalar_chars)) };
    case "bytes":
      return { work: a.chars / 16, size: textOf(a.chars * 3) };
    case "charAt":
    case "lowerAscii":
    case "upperAscii":
    case "substring":
    case "trim":
    case "reverse":
      return { work: a.chars / 16, size: textOf(a.chars) };
    case "indexOf":
    case "lastIndexOf":
      return { work: a.chars / 8, size: SCALAR };
    case "replace": {
      const chars = a.chars + (a.chars + 1) * c.chars;
      return { work: (a.chars + chars) / 16, size: textOf(chars) };
    }
    case "split": {
      const size = { chars: a.chars, items: a.chars + 1, values: a.chars + 2, text: a.chars };
      return { work: a.chars / 16 + a.chars + 1, size };
    }
    case "join": {
      const chars = a.text + finite(a.items * b.chars);
      return { work: a.items + chars / 16, size: textOf(chars) };
    }
    case "format":
      return formatted(a, b, written(args), bounds);
    case "strings.quote":
      return { work: a.chars / 8, size: textOf(a.chars * 2 + 2) };
    case "base64.encode":
      return { work: a.chars / 4, size: textOf(a.chars * 2 + 4) };
    case "base64.decode":
      return { work: a.chars / 4, size: textOf(a.chars) };
    case "math.greatest":
    case "math.least":
      return { work: Math.max(sizes.length, a.items), size: SCALAR };
    default:
      if (name.startsWith("math.")) return free(SCALAR);
      return name.startsWith("get") ? { work: 20, size: SCALAR } : undefined;
  }
}

function matchWork(text: Size, expr: Expr | undefined): number {
  const literal = expr?.kind === "literal" && typeof expr.value === "string" ? pattern(expr.value) : null;
  const program = literal?.programSize() ?? PROGRAM_MAX;
  return 8 + program / 2 + (text.chars * Math.min(program, 64)) / 16;
}

function written(args: readonly Expr[]): string | null {
  const first = args.length > 1 ? args[0] : undefined;
  return first?.kind === "literal" && typeof first.value === "string" ? first.value : null;
}

/** Each clause writes one argument, so arguments and text length both limit clauses. */
function formatted(text: Size, args: Size, literal: string | null, { least }: Bounds): CallEstimate {
  const clauses = least(text.chars / 2, args.items);
  // Every value is written at most once. Hex doubles bytes (a unit has three); a precision adds at most 450 digits.
  const perUnit = literal !== null && !/%[.0-9]*[xX]/.test(literal) ? 1 : 6;
  const chars = args.text * perUnit + args.values * scalar_chars + clauses * 450;
  return { work: clauses * 2 + args.values + (text.chars + chars) / 16, size: textOf(text.chars + chars) };
}
