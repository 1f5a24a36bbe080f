import { limits } from "@countersign/contract";

/** Amounts are whole millionths, so that sums are exact: 0.1 + 0.2 is 0.3. */
export const micros_per_unit = 1_000_000;

/** Returns the amount in millionths; null for more than six decimals, too large a number, or no number. Up to the limit, no two amounts are the same double. */
export function microsOf(value: unknown): number | null {
  const number = typeof value === "bigint" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number) || Math.abs(number) > limits.counter_amount_max)
    return null;
  // The product is rounded, so the amount may be the integer beside it.
  const near = Math.round(number * micros_per_unit);
  return [near, near - 1, near + 1].find((micros) => micros / micros_per_unit === number) ?? null;
}

/** Returns the double nearest to the amount, which is what a CEL literal of the same digits is. */
export function amountOf(micros: number): number {
  return micros / micros_per_unit;
}

/** Writes an amount for people: 3600 → "3,600.00", 4 → "4", 0.125 → "0.125". */
export function amountText(micros: number): string {
  const decimals = micros % micros_per_unit === 0 ? 0 : 2;
  return amountOf(micros).toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: 6 });
}
