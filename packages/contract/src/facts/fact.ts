/** JSON types of a listed fact besides null. */
export type FactType = "string" | "number" | "integer" | "boolean" | "object" | "array";

export type FactConstraint =
  | { readonly kind: "integer_range"; readonly min: number; readonly max: number }
  /** A two-letter USPS code in any case; stored in upper case. */
  | { readonly kind: "us_state" }
  /** An ISO 8601 calendar date, or a date-time with time zone. */
  | { readonly kind: "iso_date" }
  | { readonly kind: "one_of"; readonly values: readonly string[] };

/** One listed fact. Null is always allowed and means missing. */
export interface FactField {
  readonly name: string;
  readonly types: readonly FactType[];
  readonly meaning: string;
  readonly constraint?: FactConstraint;
}

/** A category of facts. Facts older than its maximum age count as missing. */
export interface FactCategory {
  readonly name: string;
  readonly meaning: string;
  readonly max_age_seconds: number;
  readonly fields: readonly FactField[];
}
