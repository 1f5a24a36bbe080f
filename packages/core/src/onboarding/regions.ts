import { EU_CODES, type Place, placesIn } from "./places.ts";
import { read } from "./reading.ts";
import { wordSet } from "./words.ts";

/** A region as a customer lists it, and where that is. */
export interface Region {
  readonly given: string;
  readonly homes: ReadonlySet<Place>;
}

/** State codes that stand for nothing else a customer would list as a region; "de", "in" and such are left to names. */
const STATE_CODES = wordSet(
  "tx ny fl wa az nv nj il oh ga nc va mi tn mo md wi mn or ok ky ut ia ks ar ms nm ne wv id hi nh ri mt nd sd ak dc vt wy",
);
const OTHER_COUNTRY_CODES = wordSet("uk gb au nz mx br jp cn sg hk kr za ch");
const EVERYWHERE = wordSet("global globally worldwide international everywhere world all any");

const codeOf = (region: string): string =>
  region
    .trim()
    .toLowerCase()
    .replace(/[^a-z]+/g, "-");

const homesOf = (region: string, canada: boolean): ReadonlySet<Place> => {
  const code = codeOf(region);
  if (EVERYWHERE.has(code)) return new Set<Place>(["us", "us-ca", "eu", "other"]);
  const homes = new Set<Place>();
  if (code === "us-ca" || (code === "ca" && !canada)) homes.add("us-ca").add("us");
  if (code === "us" || code.startsWith("us-") || STATE_CODES.has(code)) homes.add("us");
  for (const { home } of placesIn(read(region))) homes.add(home);
  if (EU_CODES.has(code.toUpperCase())) homes.add("eu");
  if (homes.size === 0) homes.add("other");
  return homes;
};

/**
 * Where each region is: `US-CA`, `us_tx`, `Texas`, `DE` and `worldwide` alike. CA is California, but Canada among other
 * countries that are not the United States.
 */
export const regionsOf = (regions: readonly string[]): readonly Region[] => {
  const all = regions.map(codeOf);
  const states = all.some((code) => code === "us" || code.startsWith("us-") || STATE_CODES.has(code));
  const canada = !states && all.some((code) => OTHER_COUNTRY_CODES.has(code));
  return regions.map((given) => ({ given, homes: homesOf(given, canada) }));
};
