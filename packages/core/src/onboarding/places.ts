import { isDenied } from "./negation.ts";
import { locateAll, type Reading, type Span, spanOf } from "./reading.ts";
import { phraseList, wordSet } from "./words.ts";

/** Where a law applies: a pack with a home is not recommended to somebody who names only other places. */
export type Home = "us" | "us-ca" | "eu";
export type Place = Home | "other";

const STATES = phraseList(
  "alabama|alaska|arizona|arkansas|california|colorado|connecticut|delaware|florida|georgia|hawaii|idaho|" +
    "illinois|indiana|iowa|" +
    "kansas|kentucky|louisiana|maine|maryland|massachusetts|michigan|minnesota|mississippi|missouri|montana|" +
    "nebraska|nevada|" +
    "new hampshire|new jersey|new mexico|new york|north carolina|north dakota|ohio|oklahoma|oregon|" +
    "pennsylvania|rhode island|" +
    "south carolina|south dakota|tennessee|texas|utah|vermont|virginia|washington|west virginia|wisconsin|wyoming",
);

export const CALIFORNIA = phraseList(
  "california|californian|calif|golden state|socal|los angeles|san francisco|san diego|sacramento|san jose|" +
    "fresno|oakland|" +
    "long beach|anaheim|bakersfield|palo alto|santa clara|santa monica|santa barbara|menlo park|" +
    "mountain view|cupertino|" +
    "sunnyvale|berkeley|pasadena|irvine|malibu|hollywood|Napa|silicon valley|bay area|orange county",
);

/** Adjectives of the EEA: of a place that is named beside another they tell only with people or an organization. */
const EU_ADJECTIVES = phraseList(
  "european|french|german|italian|dutch|spanish|austrian|belgian|bulgarian|croatian|czech|danish|estonian|" +
    "finnish|greek|hungarian|" +
    "irish|latvian|lithuanian|maltese|portuguese|romanian|slovak|slovenian|swedish|icelandic|norwegian|scandinavian",
);
const EU_CITIES = phraseList(
  "berlin|munich|hamburg|frankfurt|Cologne|stuttgart|düsseldorf|leipzig|paris|lyon|marseille|toulouse|madrid|barcelona|" +
    "seville|rome|milan|turin|firenze|milano|roma|bologna|amsterdam|rotterdam|the hague|utrecht|eindhoven|vienna|" +
    "wien|brussels|antwerp|ghent|dublin|Cork|lisbon|porto|warsaw|kraków|krakow|wroclaw|wrocław|gdansk|prague|" +
    "praha|brno|stockholm|" +
    "gothenburg|malmö|copenhagen|aarhus|helsinki|budapest|bucharest|athens|thessaloniki|zagreb|ljubljana|bratislava|" +
    "vilnius|riga|tallinn|oslo|bergen|reykjavik|münchen|köln",
);

const OTHER_CITIES = phraseList(
  "london|manchester|leeds|birmingham|glasgow|edinburgh|bristol|liverpool|ontario|toronto|montreal|vancouver|" +
    "calgary|ottawa|" +
    "edmonton|sydney|melbourne|brisbane|Perth|auckland|são paulo|sao paulo|zurich|zürich|geneva|basel|" +
    "tel aviv|lagos|nairobi|" +
    "dubai|istanbul|manila|jakarta|tokyo|osaka|mumbai|delhi|bangalore",
);
/** A town in the United States may have the name of one of these; the state tells. */
const CITIES: ReadonlySet<string> = new Set([...EU_CITIES, ...OTHER_CITIES]);
/** Names with a place in them that tell none. */
const NO_PLACES = phraseList(
  "american express|american football|bank of america|new york times|washington post|boston consulting group",
);
const UNITED_STATES = phraseList("US|USA|usa|united states|america|american");

/** Places that tell where customers are, by the home of a law they fall under. */
export const PLACES: Readonly<Record<Place, readonly string[]>> = {
  us: [
    ...STATES.filter((state) => state !== "georgia"),
    ...CALIFORNIA,
    ...phraseList(
      "US|USA|worldwide|around the world|in the us|the us|us based|us only|us customer|us consumer|" +
        "us resident|us citizen|usa|united states|" +
        "america|american|nationwide|new england|midwest|all 50 states|fifty states|lower 48|puerto rico|" +
        "manhattan|brooklyn|Queens|nyc|" +
        "chicago|houston|dallas|austin|boston|seattle|miami|tampa|orlando|atlanta|denver|philadelphia|" +
        "pittsburgh|detroit|phoenix|" +
        "minneapolis|nashville|las vegas|salt lake city|baltimore|cleveland|milwaukee|san antonio|" +
        "kansas city|new orleans",
    ),
  ],
  "us-ca": CALIFORNIA,
  eu: [
    ...EU_ADJECTIVES,
    ...EU_CITIES,
    ...phraseList(
      "eu|eea|worldwide|around the world|europe|european union|schengen|dach|emea|eurozone|austria|belgium|" +
        "bulgaria|croatia|cyprus|czechia|czech republic|" +
        "denmark|estonia|finland|france|germany|greece|hungary|ireland|italy|latvia|lithuania|luxembourg|" +
        "malta|netherlands|" +
        "holland|poland|portugal|romania|slovakia|slovenia|spain|sweden|iceland|liechtenstein|norway|nordic|" +
        "scandinavia|benelux|" +
        "baltic|deutschland|österreich|españa|italia|nederland|polska|sverige|danmark|bavaria|catalonia|" +
        "mallorca|ibiza|canary islands|tuscany|andalusia",
    ),
  ],
  /** Places outside both: naming only these speaks against packs with a home. */
  other: [
    ...OTHER_CITIES,
    ...phraseList(
      "uk|united kingdom|britain|british|england|scotland|wales|cornwall|yorkshire|nhs|canada|canadian|quebec|alberta|" +
        "british columbia|manitoba|saskatchewan|nova scotia|australia|australian|new south wales|queensland|" +
        "new zealand|japan|" +
        "japanese|india|indian|China|chinese|singapore|hong kong|taiwan|brazil|brazilian|mexico|mexican|latin america|" +
        "latin american|south america|south american|central america|central american|peru|colombia|" +
        "argentina|chile|switzerland|" +
        "swiss|israel|korea|south africa|nigeria|kenya|egypt|uae|saudi arabia|qatar|Turkey|ukraine|russia|" +
        "philippines|indonesia|" +
        "malaysia|thailand|vietnam|pakistan|bangladesh|bermuda|apac",
    ),
  ],
};

/** State codes, as they are written in a text; not PR, which is pull requests more often than Puerto Rico. */
const STATE_CODES = wordSet(
  "AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH " +
    "OK OR PA RI SC SD " +
    "TN TX UT VT VA WA WV WI WY DC",
);
/** As they are written in a text. */
export const EU_CODES = wordSet(
  "AT BE BG HR CY CZ DK EE FI FR DE GR HU IE IT LV LT LU NL PL PT RO SK SI ES SE IS LI NO EU",
);
const OTHER_CODES = wordSet("UK GB CH AU NZ CA MX BR JP IN CN SG HK KR ZA IL AE");
/** A list with one of these is one of countries: they are no states, and no words or departments in capitals, as IT and HR are. */
const COUNTRY_CODES = wordSet("US UK GB EU CH AU NZ MX BR JP BG CZ DK FR GR HU IE LU LV NL PL SK");
/** Words in capitals, too: a state only after a comma, after "in", or beside another code. */
const AMBIGUOUS = wordSet("ID OR IN ME OK HI PA MA MD CT CO MS DE AL LA AR");

/** What stands before a code that is meant as a place: "homeowners across NV". */
const BEFORE_CODE = wordSet("in across throughout from serving within");
const IN_LIST = wordSet("and or");

interface Found extends Span {
  readonly home: Place;
}

const isCode = ({ words }: Reading, at: number): boolean => {
  const written = words[at]?.written ?? "";
  return written === "US" || STATE_CODES.has(written) || EU_CODES.has(written) || OTHER_CODES.has(written);
};

/** Whether a code stands where a place stands: "Tampa, FL", "in TX", "Phoenix AZ". */
const isPlaced = (reading: Reading, at: number): boolean => {
  if (at > 0 && /^,\s*$|^\s*[/(]\s*$/.test(reading.gaps[at] ?? "")) return true;
  const before = reading.lower[at - 1] ?? "";
  if (before === "us" && reading.gaps[at] === "-") return true;
  if (BEFORE_CODE.has(before)) return true;
  const named =
    /^\p{Lu}\p{Ll}/u.test(reading.words[at - 1]?.written ?? "") || before === "outside" || IN_LIST.has(before);
  return named && !AMBIGUOUS.has(reading.words[at]?.written ?? "");
};

/** There are no more states than this. */
const RUN_MAX = 60;

/** Runs of codes in a row: "CA, TX and NY", "UK & IE". */
const codeRuns = (reading: Reading): number[][] => {
  const runs: number[][] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (let at = 0; at < reading.words.length; at++) {
    if (!isCode(reading, at)) continue;
    const beside = /^\s*[,/&+]\s*$/.test(reading.gaps[at] ?? "") && last === at - 1;
    const joined = last === at - 2 && IN_LIST.has(reading.lower[at - 1] ?? "") && !reading.begins.has(at);
    const run = runs.at(-1);
    if (run !== undefined && (beside || joined)) {
      if (run.length < RUN_MAX) run.push(at);
    } else runs.push([at]);
    last = at;
  }
  return runs;
};

/** Places by two capital letters. CA is California, except in a list of countries and where Canada is named. */
const codedPlaces = (reading: Reading, named: { readonly canada: boolean; readonly eu: boolean }): Found[] => {
  if (!/\p{Ll}/u.test(reading.text)) return [];
  const homeOf = (code: string, at: number, countries: boolean): Place | null => {
    if (countries) return code === "US" ? "us" : EU_CODES.has(code) ? "eu" : "other";
    if (code === "CA" && named.canada) return "other";
    if (code === "DE" && (named.eu || BEFORE_CODE.has(reading.lower[at - 1] ?? ""))) return "eu";
    return STATE_CODES.has(code) ? "us" : null;
  };
  return codeRuns(reading).flatMap((run) => {
    const countries = run.some((at) => COUNTRY_CODES.has(reading.words[at]?.written ?? ""));
    if (run.length < 2 && !isPlaced(reading, run[0] ?? 0)) return [];
    return run.flatMap((at): Found[] => {
      const code = reading.words[at]?.written ?? "";
      const home = homeOf(code, at, countries && (run.length > 1 || !STATE_CODES.has(code)));
      if (home === null || isDenied(reading, at, at)) return [];
      const span = spanOf(reading, at, at);
      return home === "us" && code === "CA"
        ? [
            { ...span, home },
            { ...span, home: "us-ca" },
          ]
        : [{ ...span, home }];
    });
  });
};

/** States whose names are no city's: "London, New York and Paris" are three cities. */
const STATES_ONLY = new Set(STATES.filter((state) => state !== "new york" && state !== "washington"));

/** Whether a state's name or code follows: "Dublin, Ohio" is in the United States; "Toronto, CA" is not. */
const stateFollows = (reading: Reading, phrase: string, last: number): boolean => {
  if (!/^,?\s+$/.test(reading.gaps[last + 1] ?? "")) return false;
  const one = reading.words[last + 1]?.written ?? "";
  const names = [reading.lower[last + 1] ?? "", `${reading.lower[last + 1]} ${reading.lower[last + 2]}`];
  if (names.some((name) => STATES_ONLY.has(name))) return true;
  return STATE_CODES.has(one) && !isCode(reading, last + 2) && !(one === "CA" && CANADA.has(phrase));
};

/** People and organizations: "French customers" are in France, as a French novel need not be. */
const PEOPLE = wordSet(
  "customer client user citizen resident consumer patient employee worker subsidiary company firm bank " +
    "market branch office law " +
    "regulator business retailer hospital insurer airline guest traveller school university manufacturer " +
    "startup team visitor " +
    "member merchant supplier shop store clinic public people person subject authority government entity",
);
const LANGUAGE = wordSet(
  "speaking speaker language style inspired translation translator lesson cuisine food novel wine cheese restaurant",
);

/** An adjective tells a place where people or an organization follow, or else where no other place is named. */
const tellsPlace = ({ stems, words: all }: Reading, last: number, alone: boolean): boolean => {
  if (LANGUAGE.has(stems[last + 1] ?? "")) return false;
  return alone || [last + 1, last + 2].some((at) => at < all.length && PEOPLE.has(stems[at] ?? ""));
};

/** The places that a text names and does not deny, in its order. A longer name holds those in it: New England is not England. */
export const placesIn = (reading: Reading): readonly Found[] => {
  const named: (Found & { first: number; last: number; phrase: string })[] = [];
  const add = (home: Place, phrase: string, places: Iterable<readonly [first: number, last: number]>): void => {
    let times = 0;
    for (const [first, last] of places) {
      if (++times > TIMES_MAX) break;
      named.push({ home, phrase, first, last, ...spanOf(reading, first, last) });
    }
  };
  for (const home of Object.keys(PLACES) as Place[]) {
    for (const phrase of PLACES[home]) add(home, phrase, locateAll(reading, phrase));
  }
  for (const phrase of NO_PLACES) add("other", phrase, locateAll(reading, phrase));
  const outer = named.filter(
    (one) =>
      !named.some(
        (other) => other.first <= one.first && other.last >= one.last && other.phrase.length > one.phrase.length,
      ),
  );
  const there = outer.filter(
    ({ phrase, last }) => !NO_PLACES.includes(phrase) && !(CITIES.has(phrase) && stateFollows(reading, phrase, last)),
  );
  const coded = codedPlaces(reading, {
    canada: there.some(({ phrase }) => CANADA.has(phrase)),
    eu: there.some(({ home }) => home === "eu"),
  });
  const before = named.length;
  const adjective = (phrase: string): boolean => EU_ADJECTIVES.includes(phrase);
  const alone = coded.length === 0 && there.every(({ home, phrase }) => home === "eu" || adjective(phrase));
  // Who is not in the United States is elsewhere, wherever that is.
  for (const phrase of UNITED_STATES) add("other", phrase, locateAll(reading, phrase, true));
  const elsewhere = named.slice(before);
  return [
    ...there.filter(({ phrase, last }) => !adjective(phrase) || tellsPlace(reading, last, alone)),
    ...coded,
    ...elsewhere,
  ]
    .filter(
      ({ home, start, end }, at, all) =>
        all.findIndex((o) => o.home === home && o.start === start && o.end === end) === at,
    )
    .map(({ home, start, end }) => ({ home, start, end }))
    .sort((a, b) => a.start - b.start);
};
/** A text that names one place a thousand times tells no more than the first few do. */
const TIMES_MAX = 4;
const CANADA = wordSet("canada canadian quebec alberta toronto montreal vancouver calgary ottawa edmonton");
