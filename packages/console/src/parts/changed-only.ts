/** What a form changes of something that others change, too. */

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

/**
 * The fields of `input` that are not as they were when its form opened (`before`), laid over what there is `now`: of an object
 * the members that were changed, of a list of names those that were added or taken away. What others changed meanwhile stays.
 */
export function changedOnly<T extends object>(input: T, before: object, now: object): Partial<T> {
  const [was, is] = [before as Fields, now as Fields];
  const changed = Object.entries(input).flatMap(([field, value]) => {
    const isAsItWas = same(laidOver(value, was[field], was[field]), was[field]);
    return isAsItWas ? [] : [[field, laidOver(value, was[field], is[field])]];
  });
  return Object.fromEntries(changed) as Partial<T>;
}

function laidOver(value: unknown, before: unknown, now: unknown): unknown {
  if (isFields(value) && isFields(before) && isFields(now)) {
    const members = Object.entries(value).filter(([name, each]) => !same(each, before[name]));
    return { ...now, ...Object.fromEntries(members) };
  }
  if (Array.isArray(value) && Array.isArray(before) && Array.isArray(now)) {
    const left = now.filter((each) => value.includes(each) || !before.includes(each));
    return [...left, ...value.filter((each) => !before.includes(each) && !left.includes(each))];
  }
  return value;
}
