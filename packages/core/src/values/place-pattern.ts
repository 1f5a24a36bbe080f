/** JSON Pointers in which `*` matches every entry of a list and every member of an object. */
import { isIndex, pointerNames, pointerToken } from "./json-patch.ts";

export function isStarred(path: string): boolean {
  return path.includes("*") && pointerNames(path).includes("*");
}

export function placesOf(content: unknown, path: string): string[] {
  let found: { readonly place: string; readonly value: unknown }[] = [{ place: "", value: content }];
  for (const name of pointerNames(path))
    found = found.flatMap(({ place, value }) =>
      membersOf(value, name).map(([member, each]) => ({ place: `${place}/${pointerToken(member)}`, value: each })),
    );
  return found.map(({ place }) => place);
}

function membersOf(value: unknown, name: string): [string, unknown][] {
  if (typeof value !== "object" || value === null) return [];
  if (name === "*") return Object.entries(value);
  if (!Object.hasOwn(value, name) || (Array.isArray(value) && !isIndex(name))) return [];
  return [[name, (value as Record<string, unknown>)[name]]];
}

/** Returns true for the place or a parent of it. */
export function coversPlace(path: string, place: string): boolean {
  const names = pointerNames(place);
  const wanted = pointerNames(path);
  return wanted.length <= names.length && wanted.every((name, at) => name === "*" || name === names[at]);
}
