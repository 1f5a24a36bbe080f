export interface Field {
  readonly type: Type;
  /** `optional`: may be absent. `nullable`: may be null. The checker reports a use without a guard. */
  readonly optional?: boolean;
  readonly nullable?: boolean;
}

type Simple = "error" | "null" | "bool" | "int" | "uint" | "double" | "string" | "bytes" | "timestamp" | "duration";

/** Build it with the constants and functions of this file. */
export type Type =
  | { readonly kind: Simple }
  /** Any type, or any of `among`. */
  | { readonly kind: "dyn"; readonly among?: readonly Type[] }
  | { readonly kind: "list"; readonly element: Type }
  | { readonly kind: "map"; readonly key: Type; readonly value: Type }
  | {
      readonly kind: "object";
      readonly name: string;
      readonly fields: ReadonlyMap<string, Field>;
      /** Type of undeclared keys; null for a closed object. */
      readonly rest: Type | null;
    }
  | { readonly kind: "opaque"; readonly name: string; readonly parameters: readonly Type[] }
  | { readonly kind: "type"; readonly of: Type | null }
  | { readonly kind: "parameter"; readonly name: string };

export const DYN: Type = { kind: "dyn" };
export const ERROR: Type = { kind: "error" };
export const NULL: Type = { kind: "null" };
export const BOOL: Type = { kind: "bool" };
export const INT: Type = { kind: "int" };
export const UINT: Type = { kind: "uint" };
export const DOUBLE: Type = { kind: "double" };
export const STRING: Type = { kind: "string" };
export const BYTES: Type = { kind: "bytes" };
export const TIMESTAMP: Type = { kind: "timestamp" };
export const DURATION: Type = { kind: "duration" };

export function anyOf(among: readonly Type[]): Type {
  return { kind: "dyn", among };
}

export function listOf(element: Type): Type {
  return { kind: "list", element };
}

export function mapOf(key: Type, value: Type): Type {
  return { kind: "map", key, value };
}

export function optionalOf(type: Type): Type {
  return { kind: "opaque", name: "optional_type", parameters: [type] };
}

/** Expressions pass opaque values on but cannot read them. */
export function opaque(name: string, ...parameters: Type[]): Type {
  return { kind: "opaque", name, parameters };
}

/** Returns a type parameter of a function. The same letter means the same type. */
export function parameter(name: string): Type {
  return { kind: "parameter", name };
}

/**
 * `open: true` allows other keys as `dyn`; a type allows other keys of that type. By default an unknown field is an
 * error. Diagnostics call the object `name`.
 */
export function objectOf(
  fields: Readonly<Record<string, Field | Type>>,
  options: { readonly open?: boolean | Type; readonly name?: string } = {},
): Type {
  const table = new Map(Object.entries(fields).map(([key, f]) => [key, "kind" in f ? { type: f } : f]));
  const rest = options.open === undefined || options.open === false ? null : options.open === true ? DYN : options.open;
  return { kind: "object", name: options.name ?? "object", fields: table, rest };
}

/** Returns the type as CEL writes it: `map(string, dyn)`. */
export function typeName(t: Type): string {
  switch (t.kind) {
    case "list":
      return `list(${typeName(t.element)})`;
    case "map":
      return `map(${typeName(t.key)}, ${typeName(t.value)})`;
    case "object":
      return t.name;
    case "opaque":
      return t.parameters.length === 0 ? t.name : `${t.name}(${t.parameters.map(typeName).join(", ")})`;
    case "type":
      return t.of === null ? "type" : `type(${typeName(t.of)})`;
    case "parameter":
      return t.name;
    case "dyn":
      return t.among === undefined ? "dyn" : t.among.map(typeName).join(" or ");
    default:
      return t.kind;
  }
}

export function sameType(a: Type, b: Type): boolean {
  if (a === b) return true;
  if (a.kind !== b.kind) return false;
  switch (a.kind) {
    case "list":
      return b.kind === "list" && sameType(a.element, b.element);
    case "map":
      return b.kind === "map" && sameType(a.key, b.key) && sameType(a.value, b.value);
    case "opaque":
      return b.kind === "opaque" && a.name === b.name && sameTypes(a.parameters, b.parameters);
    case "type":
      return b.kind === "type" && (a.of === null || b.of === null ? a.of === b.of : sameType(a.of, b.of));
    case "parameter":
      return b.kind === "parameter" && a.name === b.name;
    case "object":
      return false;
    case "dyn":
      return b.kind === "dyn" && sameTypes(a.among ?? [], b.among ?? []);
    default:
      return true;
  }
}

function sameTypes(a: readonly Type[], b: readonly Type[]): boolean {
  return a.length === b.length && a.every((t, i) => sameType(t, b[i] as Type));
}

export function isNumeric(t: Type): boolean {
  return t.kind === "int" || t.kind === "uint" || t.kind === "double";
}

export function typeOf(of: Type): Type {
  return { kind: "type", of };
}
