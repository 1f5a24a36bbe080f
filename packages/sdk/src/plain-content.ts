/** Parameters as JSON can write them: what is decided on and what is run have to be the same. */

/** The parameters of an action: `payload.content` of its intent. */
export type ActionContent = Readonly<Record<string, unknown>>;

/**
 * A copy that nobody else holds. Throws a TypeError that names the first place with something JSON would lose or change (a Map,
 * a Date, Infinity, a function): it would be run with what nobody decided on. Members that are undefined are left out, and -0 is 0.
 */
export function plainContent(params: unknown): ActionContent {
  if (typeof params !== "object" || params === null || Array.isArray(params))
    throw new TypeError("what an action is asked about with has to be an object with its parameters");
  return plain(params, "params", []) as ActionContent;
}

function plain(value: unknown, place: string, around: readonly object[]): unknown {
  // Also of -0, which JSON writes as 0: it comes of rounding, is equal to it, and nobody means another one.
  if (value === 0) return 0;
  if (value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value)) return value;
  if (typeof value !== "object" || !(Array.isArray(value) || isRecord(value)))
    throw new TypeError(
      `${place} is ${named(value)}: parameters have to be what JSON can write, or others are decided on`,
    );
  if (around.includes(value)) throw new TypeError(`${place} holds itself: JSON cannot write it`);
  const within = [...around, value];
  if (Array.isArray(value)) return Array.from(value, (each, index) => plain(each, `${place}[${index}]`, within));
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.map(([name, member]) => [name, plain(member, `${place}.${name}`, within)]));
}

/** An object literal, of whatever realm; not an instance of a class. */
function isRecord(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function named(value: unknown): string {
  if (typeof value === "object" && value !== null) return `an instance of ${value.constructor?.name}`;
  return typeof value === "function" ? "a function" : String(value);
}
