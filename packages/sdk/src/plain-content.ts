/** Parameters as valid JSON, because the decided and the executed ones must be the same. */

/** `payload.content` of an intent. */
export type ActionContent = Readonly<Record<string, unknown>>;

/**
 * Returns a copy of the parameters. Throws a TypeError for a value that JSON would lose or change (a Map, a Date,
 * Infinity, a function), because the action would run with undecided values. The error names the first place. Omits
 * undefined members; -0 becomes 0.
 */
export function plainContent(params: unknown): ActionContent {
  if (typeof params !== "object" || params === null || Array.isArray(params))
    throw new TypeError("the parameters of an action must be an object");
  return plain(params, "params", []) as ActionContent;
}

function plain(value: unknown, place: string, around: readonly object[]): unknown {
  // JSON writes -0, a result of rounding, as 0.
  if (value === 0) return 0;
  if (value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value)) return value;
  if (typeof value !== "object" || !(Array.isArray(value) || isRecord(value)))
    throw new TypeError(
      `${place} is ${named(value)}: parameters must be valid JSON, because the decision is made on JSON`,
    );
  if (around.includes(value)) throw new TypeError(`${place} contains itself: JSON cannot represent it`);
  const within = [...around, value];
  if (Array.isArray(value)) return Array.from(value, (each, index) => plain(each, `${place}[${index}]`, within));
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.map(([name, member]) => [name, plain(member, `${place}.${name}`, within)]));
}

/** Returns true for an object literal of any realm, false for an instance of a class. */
function isRecord(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function named(value: unknown): string {
  if (typeof value === "object" && value !== null) return `an instance of ${value.constructor?.name}`;
  return typeof value === "function" ? "a function" : String(value);
}
