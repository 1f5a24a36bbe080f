/** The shortest text of a double has at most 17 significant digits. */
const digits_max = 17;

/**
 * Returns whether a double represents a JSON number exactly, in any spelling. Otherwise policies would treat two
 * different amounts as equal.
 */
export function isExactNumber(written: string): boolean {
  const value = Number(written);
  const printed = String(value);
  if (printed === written) return true;
  if (!Number.isFinite(value)) return false;
  const given = decimalOf(written);
  if (given.digits.length > digits_max) return false;
  const held = decimalOf(printed);
  return given.digits === held.digits && (given.digits === "" || given.power === held.power);
}

/** Returns the significant digits and the power of ten of the first digit. Zero has no digits. */
function decimalOf(number: string): { digits: string; power: number } {
  const exponent = number.search(/e/i);
  const mantissa = exponent === -1 ? number : number.slice(0, exponent);
  const point = mantissa.indexOf(".");
  // A pattern such as /0+$/ would take quadratic time for many zeros before another digit.
  let from = 0;
  let to = mantissa.length;
  while (from < to && isZeroOrSign(mantissa[from])) from += 1;
  while (to > from && isZeroOrSign(mantissa[to - 1])) to -= 1;
  const whole_end = point === -1 ? mantissa.length : point;
  const power =
    whole_end - from + (from > whole_end ? 1 : 0) + (exponent === -1 ? 0 : Number(number.slice(exponent + 1)));
  return { digits: mantissa.slice(from, to).replace(".", ""), power };
}

function isZeroOrSign(char: string | undefined): boolean {
  return char === "0" || char === "." || char === "-";
}
