import Negotiator from "negotiator";

/** Returns the media type that the caller prefers; the first of `offered` if the caller has no preference, or accepts none of them. */
export function preferredType<Type extends string>(
  accept: string | readonly string[] | undefined,
  offered: readonly [Type, ...Type[]],
): Type {
  if (typeof accept !== "string") return offered[0];
  const chosen = new Negotiator({ headers: { accept } }).mediaType([...offered]);
  return offered.find((type) => type === chosen) ?? offered[0];
}
