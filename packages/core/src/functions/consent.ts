import { instantOf } from "./dates.ts";
import { at, given, isRecord, squash } from "./text.ts";

/** A withdrawal overrides a status. A doubtful record is `unknown`. */
export type ConsentState = "granted" | "refused" | "unknown";

const words = (list: string): ReadonlySet<string> => new Set(list.split(" "));
const GRANTED = words(
  "granted given yes true active valid optedin optin consented confirmed accepted agreed inforce obtained",
);
const REFUSED = words(
  "refused denied declined rejected no false withdrawn revoked expired optedout optout objected cancelled canceled " +
    "notgiven notgranted none lapsed terminated inactive invalid",
);
/** Keys of a withdrawal. The value is a flag, a date or a text. */
const withdrawnKey =
  /withdrawn|withdrew|withdrawal|revoked|revocation|refused|refusal|denied|declined|rejected|cancell?ed|cancellation|rescinded|optedout|unsubscribed|terminated|suspended|invalidated|^donot(?:call|contact)$|^expired$|^(?:withdraw|revoke|optout)(?:at|on|date|time)?$/;
/** Keys that only describe how to withdraw. */
const howKey = /right|instruction|procedure|link|url/;
/** Keys that mean a withdrawal if false. */
const inForceKey = /^(?:is)?(?:active|valid|inforce)$/;
const denyingKey = /^(?:is|was)?(?:not|never|non)/;
const expiryKey =
  /expir|^valid(?:ity)?(?:to|until|till|through|thru|end)|^(?:date)?end(?:s|ed|ing)?(?:at|on|date|time)?$|notafter|^until$/;
const givenKey = /^(?:granted|given|obtained|signed)(?:at|on|date)$/;
const statusKey = /^(?:consent)?(?:status|state)$|^(?:consent|granted|given|consented|optedin)$/;
/** Tolerated difference of clocks. A consent that is dated later is not given yet. */
const clock_skew_ms = 5 * 60_000;

const stateOfText = (text: string): ConsentState => {
  const word = squash(text);
  return GRANTED.has(word) ? "granted" : REFUSED.has(word) ? "refused" : "unknown";
};

const stateOfStatus = (status: unknown): ConsentState =>
  status === true
    ? "granted"
    : status === false
      ? "refused"
      : typeof status === "string"
        ? stateOfText(status)
        : "unknown";

/** Returns true for `true`, any date, or any text that does not deny the withdrawal. */
const marks = (value: unknown): boolean =>
  given(value) &&
  value !== false &&
  value !== "" &&
  !(typeof value === "string" && ["no", "false", "none"].includes(squash(value))) &&
  !(Array.isArray(value) && value.length === 0);

type Fields = readonly (readonly [key: string, value: unknown])[];
const fieldsOf = (record: Readonly<Record<string, unknown>>): Fields =>
  Object.entries(record)
    .filter(([, value]) => given(value))
    .map(([key, value]) => [squash(key), value]);
const under = (fields: Fields, kind: RegExp): Fields => fields.filter(([key]) => kind.test(key));

const withdrawn = (fields: Fields): boolean =>
  under(fields, inForceKey).some(([, value]) => value === false) ||
  under(fields, withdrawnKey).some(([key, value]) =>
    denyingKey.test(key) ? value === false : !howKey.test(key) && marks(value),
  );

const expired = (now_ms: number, fields: Fields): "yes" | "no" | "unreadable" => {
  const dates = under(fields, expiryKey).filter(([key]) => key !== "expired" && !denyingKey.test(key));
  const instants = dates.map(([, value]) => instantOf(value));
  if (instants.some((instant) => instant !== undefined && instant <= now_ms)) return "yes";
  return instants.includes(undefined) ? "unreadable" : "no";
};

const notYetGiven = (now_ms: number, fields: Fields): boolean =>
  under(fields, givenKey).some(([, value]) => {
    const instant = instantOf(value);
    return instant !== undefined && instant > now_ms + clock_skew_ms;
  });

/**
 * Returns granted for a consent that is given, not withdrawn, not expired and not dated in the future (GDPR Art. 7(3)).
 * Ignores case and punctuation in keys.
 */
export const consentState = (now_ms: number, value: unknown): ConsentState => {
  if (!isRecord(value)) return stateOfStatus(value);
  const fields = fieldsOf(value);
  if (withdrawn(fields)) return "refused";
  const statuses = under(fields, statusKey).map(([, status]) => stateOfStatus(status));
  if (statuses.includes("refused")) return "refused";
  const expiry = expired(now_ms, fields);
  if (expiry === "yes") return "refused";
  if (expiry === "unreadable" || notYetGiven(now_ms, fields)) return "unknown";
  return statuses.length > 0 && statuses.every((status) => status === "granted") ? "granted" : "unknown";
};

type OptOut = "out" | "in" | "unknown";

const outKey = /^(?:opt(?:ed)?out|donot(?:sell|share|sellorshare))$/;
const partOutKey =
  /^(?:opt(?:ed)?out|donot(?:sell|share))(?:of|from)?(?:sale|selling|sharing|saleorsharing|saleandsharing)$|^(?:sale|selling|sharing|saleorsharing|saleandsharing)opt(?:ed)?out$/;
/** Keys that mean "permitted" if true. */
const permissionKey = /^(?:sale|sharing)$/;
const outDateKey = /^opt(?:ed)?out(?:at|on|date)$/;
const OUT_STATUS = words("optedout optout out donotsell donotshare yes true");
const IN_STATUS = words("notoptedout optedin optin in no none false");
const FORBIDDEN = words("optedout optout out donotsell donotshare no none false denied refused forbidden prohibited");
const PERMITTED = words("notoptedout optedin optin in yes true granted allowed permitted");

const read = (flag: unknown, out: ReadonlySet<string>, permitted: ReadonlySet<string>): OptOut => {
  if (typeof flag !== "boolean" && typeof flag !== "string") return "unknown";
  const word = squash(String(flag));
  return out.has(word) ? "out" : permitted.has(word) ? "in" : "unknown";
};
const flagged = (flag: unknown): OptOut => read(flag, OUT_STATUS, IN_STATUS);
const permission = (flag: unknown): OptOut => read(flag, FORBIDDEN, PERMITTED);

const optOut = (value: unknown): OptOut => {
  if (!isRecord(value)) return flagged(value);
  const fields = fieldsOf(value);
  const statuses = under(fields, /^status$/).filter(([, status]) => typeof status === "string");
  const said = [
    ...under(fields, outKey).map(([, flag]) => flagged(flag)),
    ...under(fields, partOutKey)
      .map(([, flag]) => flagged(flag))
      .filter((state) => state !== "in"),
    ...under(fields, permissionKey).map(([, flag]) => permission(flag)),
    ...statuses.map(([, status]) => flagged(status)).filter((state) => state !== "unknown"),
  ];
  if (said.includes("out")) return "out";
  const dates = under(fields, outDateKey)
    .map(([, date]) => date)
    .filter(marks);
  if (dates.length > 0 && !optedInLater(value, dates)) return "out";
  return said.length > 0 && !said.includes("unknown") ? "in" : "unknown";
};

/** Returns true if a later, dated opt-in cancels the opt-out. */
const optedInLater = (record: Readonly<Record<string, unknown>>, out_dates: readonly unknown[]): boolean => {
  const back = instantOf(at(record, "opted_in_at"));
  const isBefore = (date: unknown): boolean => back !== undefined && (instantOf(date) ?? Infinity) < back;
  return out_dates.every(isBefore) && at(record, "opted_out") === false;
};

/** Returns true if any field of a consumer's record opts out of sale or sharing. */
export const optedOut = (value: unknown): boolean => optOut(value) === "out";

/** Returns true if the record says whether the consumer opted out, and all its flags are readable. */
export const optOutKnown = (value: unknown): boolean => optOut(value) !== "unknown";
