/** Limits a form's change to fields that its user changed, because others change the record, too. */

type Fields = Readonly<Record<string, unknown>>;

/** Changed fields; for an object only its changed members. */
type ChangedOnly<T> = { [Field in keyof T]?: MembersOf<Exclude<T[Field], undefined>> };
type MembersOf<V> = V extends readonly unknown[] | string | number | boolean | null
  ? V
  : string extends keyof V
    ? V
    : Partial<V>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

/**
 * Returns the fields of `input` that differ from `before`, their values when the form opened. For lists of names,
 * applies the additions and removals to `now`. So changes by others stay.
 */
export function changedOnly<T extends object>(input: T, before: object, now: object): ChangedOnly<T> {
  const [was, is] = [before as Fields, now as Fields];
  const changed = Object.entries(input).flatMap(([field, value]) => {
    const change = changeOf(value, was[field], is[field]);
    return change === undefined ? [] : [[field, change]];
  });
  return Object.fromEntries(changed) as ChangedOnly<T>;
}

/** Undefined: unchanged. */
function changeOf(value: unknown, before: unknown, now: unknown): unknown {
  if (isFields(value) && isFields(before)) {
    const members = Object.entries(value).filter(([name, each]) => !same(each, before[name]));
    return members.length === 0 ? undefined : Object.fromEntries(members);
  }
  if (Array.isArray(value) && Array.isArray(before) && Array.isArray(now)) {
    const added = value.filter((each) => !before.includes(each));
    if (added.length === 0 && before.every((each) => value.includes(each))) return undefined;
    const left = now.filter((each) => value.includes(each) || !before.includes(each));
    return [...left, ...added.filter((each) => !left.includes(each))];
  }
  return same(value, before) ? undefined : value;
}
