// Read by `npm start` and by the program before anything else: syntax that every Node of the last years understands.

/** The first minor version that does, by major version; newer majors do from their first on, older ones never. */
const firstMinor = { 20: 19, 21: Number.POSITIVE_INFINITY, 22: 2 };

/** Why Countersign does not run on this Node; null: it does. The same stands in `engines` of the packages, for npm. */
export function whyNotThisNode() {
  const version = process.versions.node;
  const [major, minor] = version.split(".").map(Number);
  if (major >= 20 && minor >= (firstMinor[major] ?? 0)) return null;
  return `needs Node 20.19 or a later 20, or 22.2 or newer; this is ${version} (https://nodejs.org)`;
}
