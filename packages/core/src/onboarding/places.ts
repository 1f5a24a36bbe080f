import { pair } from "./pack-signals.ts";
import { phraseList, wordSet } from "./words.ts";

/** A pack with a home is not recommended to customers who name only other places. */
export type Home = "us" | "us-ca" | "eu";
export type Place = Home | "other";

export const unitedStates = new Set(phraseList("US|USA|usa|united states|america|american|the us"));

/** Country codes that are also US states, beside codes that make the meaning clear. */
const CANADA_IN_A_LIST = phraseList(
  "UK CA|CA UK|GB CA|CA GB|AU CA|CA AU|NZ CA|CA NZ|CH CA|CA CH|MX CA|CA MX|BR CA|CA BR|JP CA|CA JP",
);
const DELAWARE_IN_A_LIST = phraseList("NJ DE|DE NJ|PA DE|DE PA|MD DE|DE MD|VA DE|DE VA|NY DE|DE NY|CT DE|DE CT");

const TOWNS_OF_THE_US = phraseList(
  "dublin ohio|dublin OH|berlin NH|berlin new hampshire|berlin CT|paris texas|paris TX|paris kentucky|" +
    "rome georgia|rome GA|rome NY|athens georgia|athens GA|athens ohio|london kentucky|london KY|london ohio|" +
    "manchester new hampshire|manchester NH|birmingham alabama|birmingham AL|melbourne florida|melbourne FL|" +
    "cambridge massachusetts|cambridge MA|toledo ohio|vienna virginia|vienna VA|glasgow kentucky|" +
    "bristol connecticut|bristol tennessee|geneva illinois|geneva IL|peru indiana|lebanon pennsylvania|" +
    "vancouver washington|vancouver WA|milan michigan|milan MI|warsaw indiana|warsaw IN|moscow idaho|" +
    "florence south carolina|florence alabama|oxford mississippi",
);
const TOWNS_OF_CALIFORNIA = phraseList(
  "dublin california|dublin CA|ontario california|albany california|richmond california|venice california",
);
const TOWNS_OF_CANADA = phraseList(
  "toronto CA|montreal CA|vancouver CA|calgary CA|ottawa CA|edmonton CA|quebec CA|new south wales",
);

const CALIFORNIA = phraseList(
  "california|californian|calif|golden state|socal|los angeles|san francisco|san diego|sacramento|san jose|" +
    "fresno|oakland|long beach|anaheim|bakersfield|palo alto|santa clara|santa monica|santa barbara|menlo park|" +
    "mountain view|cupertino|sunnyvale|berkeley|pasadena|irvine|malibu|hollywood|Napa|silicon valley|bay area|" +
    "orange county|CA",
);

const OF_THE_US = phraseList(
  "alabama|alaska|arizona|arkansas|colorado|connecticut|delaware|florida|hawaii|idaho|illinois|" +
    "indiana|iowa|kansas|kentucky|louisiana|maine|maryland|massachusetts|michigan|minnesota|mississippi|missouri|" +
    "montana|nebraska|nevada|new hampshire|new jersey|new mexico|new york|north carolina|north dakota|ohio|" +
    "oklahoma|oregon|pennsylvania|rhode island|south carolina|south dakota|tennessee|texas|utah|vermont|virginia|" +
    "washington|west virginia|wisconsin|wyoming|US|USA|in the us|the us|us based|us only|us customer|us consumer|" +
    "us resident|us citizen|usa|united states|america|american|nationwide|new england|midwest|all 50 states|" +
    "fifty states|lower 48|puerto rico|manhattan|brooklyn|Queens|nyc|chicago|houston|dallas|austin|boston|seattle|" +
    "miami|tampa|orlando|atlanta|denver|philadelphia|pittsburgh|detroit|phoenix|minneapolis|nashville|las vegas|" +
    "salt lake city|baltimore|cleveland|milwaukee|san antonio|kansas city|new orleans|AL|AK|AZ|AR|FL|GA|IA|IL|KS|" +
    "KY|MI|MN|MO|MT|NC|ND|NE|NH|NJ|NM|NV|NY|OH|RI|SC|SD|TN|TX|UT|VA|VT|WA|WI|WV|WY|DC",
);

const OF_THE_EEA = phraseList(
  "berlin|munich|hamburg|frankfurt|Cologne|stuttgart|düsseldorf|leipzig|paris|lyon|marseille|toulouse|madrid|" +
    "barcelona|seville|rome|milan|turin|firenze|milano|roma|bologna|amsterdam|rotterdam|the hague|utrecht|" +
    "eindhoven|vienna|wien|brussels|antwerp|ghent|dublin|Cork|lisbon|porto|warsaw|kraków|krakow|wroclaw|wrocław|" +
    "gdansk|prague|praha|brno|stockholm|gothenburg|malmö|copenhagen|aarhus|helsinki|budapest|bucharest|athens|" +
    "thessaloniki|zagreb|ljubljana|bratislava|vilnius|riga|tallinn|oslo|bergen|reykjavik|münchen|köln|eu|eea|" +
    "europe|european union|schengen|dach|emea|eurozone|austria|belgium|bulgaria|croatia|cyprus|czechia|" +
    "czech republic|denmark|estonia|finland|france|germany|greece|hungary|ireland|italy|latvia|lithuania|" +
    "luxembourg|malta|netherlands|holland|poland|portugal|romania|slovakia|slovenia|spain|sweden|iceland|" +
    "liechtenstein|norway|nordic|scandinavia|benelux|baltic|deutschland|österreich|españa|italia|nederland|polska|" +
    "sverige|danmark|bavaria|catalonia|mallorca|ibiza|canary islands|tuscany|andalusia|european|scandinavian|DE|FR|" +
    "IE|NL|ES|PL|EU",
);

const ELSEWHERE = phraseList(
  "london|manchester|leeds|birmingham|glasgow|edinburgh|bristol|liverpool|ontario|toronto|montreal|vancouver|" +
    "calgary|ottawa|edmonton|sydney|melbourne|brisbane|Perth|auckland|são paulo|sao paulo|zurich|zürich|geneva|" +
    "basel|tel aviv|lagos|nairobi|dubai|istanbul|manila|jakarta|tokyo|osaka|mumbai|delhi|bangalore|uk|" +
    "united kingdom|britain|british|england|scotland|wales|cornwall|yorkshire|nhs|canada|canadian|quebec|alberta|" +
    "british columbia|manitoba|saskatchewan|nova scotia|australia|australian|new south wales|queensland|" +
    "new zealand|japan|japanese|india|indian|China|chinese|singapore|hong kong|taiwan|brazil|brazilian|mexico|" +
    "mexican|latin america|latin american|south america|south american|central america|central american|peru|" +
    "colombia|argentina|chile|switzerland|swiss|israel|korea|south africa|nigeria|kenya|egypt|uae|saudi arabia|" +
    "qatar|Turkey|ukraine|russia|philippines|indonesia|malaysia|thailand|vietnam|pakistan|bangladesh|bermuda|apac|" +
    "UK|GB|CH|AU|NZ|MX|BR|JP|CN|SG|HK|KR|ZA|AE",
);

/** Phrases for places. A longer phrase hides the phrases in it: New England is not England. */
export const PLACES: readonly (readonly [phrase: string, places: readonly Place[]])[] = [
  ...[...CALIFORNIA, ...TOWNS_OF_CALIFORNIA].map((phrase) => [phrase, ["us", "us-ca"]] as const),
  ...[...OF_THE_US, ...DELAWARE_IN_A_LIST, ...TOWNS_OF_THE_US].map((phrase) => [phrase, ["us"]] as const),
  ...OF_THE_EEA.map((phrase) => [phrase, ["eu"]] as const),
  ...[...ELSEWHERE, ...CANADA_IN_A_LIST, ...TOWNS_OF_CANADA].map((phrase) => [phrase, ["other"]] as const),
  ...phraseList("worldwide|around the world").map((phrase) => [phrase, ["us", "eu"]] as const),
];

/** Adjectives that need people or an organization beside them: a French novel is no place. */
export const OF_THE_EEA_BY_ADJECTIVE = pair(
  "european french german italian dutch spanish austrian belgian bulgarian croatian czech danish estonian " +
    "finnish greek hungarian irish latvian lithuanian maltese portuguese romanian slovak slovenian swedish " +
    "icelandic norwegian scandinavian",
  "customer client user citizen resident consumer patient employee worker subsidiary company firm bank market " +
    "branch office law regulator business retailer hospital insurer airline guest traveller school university " +
    "manufacturer startup team visitor member merchant supplier shop store clinic public people person subject " +
    "authority government entity",
);

export const EVERYWHERE = wordSet("global globally worldwide international everywhere world all any");
/** Codes only for region lists, because they are words in a text. */
export const EU_CODES = wordSet("AT BE BG HR CY CZ DK EE FI GR HU IT LV LT LU MT PT RO SK SI SE IS LI NO");
