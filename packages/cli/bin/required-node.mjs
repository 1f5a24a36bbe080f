// `npm start` and the program read this file first, so it must have only old syntax.

/** First supported minor version, by major version. Newer majors are supported, older ones never. */
const firstMinor = { 20: 19, 21: Number.POSITIVE_INFINITY, 22: 2 };

/** Returns why Countersign does not run on this Node, or null. `engines` of the packages has the same versions. */
export function whyNotThisNode() {
  const version = process.versions.node;
  const [major, minor] = version.split(".").map(Number);
  if (major >= 20 && minor >= (firstMinor[major] ?? 0)) return null;
  return `needs Node 20.19 or a later 20, or 22.2 or newer; this is ${version} (https://nodejs.org)`;
}
