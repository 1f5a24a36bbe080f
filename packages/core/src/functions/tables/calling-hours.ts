/** Permitted hours, both ends inclusive: `[8, 19]` is 08:00 to 19:59. `null`: none on that day. */
export type DayHours = readonly [first: number, last: number] | null;

/** The week begins on Sunday. `verified_on` is the date of the last check. */
export interface StateCallingHours {
  readonly state: string;
  readonly week: readonly [DayHours, DayHours, DayHours, DayHours, DayHours, DayHours, DayHours];
  readonly source: string;
  readonly verified_on: string;
}

/** 08:00 to 20:59 at the recipient's place (47 CFR 64.1200(c)(1)). */
export const federalWindow: readonly [first: number, last: number] = [8, 20];

const everyDay = (hours: DayHours): StateCallingHours["week"] => [hours, hours, hours, hours, hours, hours, hours];
const sundayOr = (sunday: DayHours, other: DayHours): StateCallingHours["week"] => [
  sunday,
  other,
  other,
  other,
  other,
  other,
  other,
];
const row = (state: string, week: StateCallingHours["week"], source: string): StateCallingHours => ({
  state,
  week,
  source,
  verified_on: "2026-11-18",
});

/**
 * States stricter than the federal window. If a state restricts only some kinds of caller or device, the row has the
 * strictest hours, because an agent's calls are automated. State holidays are missing. Not legal advice.
 */
export const callingHours: readonly StateCallingHours[] = [
  row("AL", sundayOr(null, [8, 19]), "Ala. Code 8-19A and 8-19C; Alabama PSC telephone solicitation rules"),
  row("CT", everyDay([9, 19]), "Conn. Gen. Stat. 42-288a"),
  row("FL", everyDay([8, 19]), "Fla. Stat. 501.616(6)(a)"),
  row("IL", everyDay([9, 20]), "815 ILCS 305/15 (autodialers)"),
  row("KY", everyDay([10, 20]), "KRS 367.46955"),
  row("LA", sundayOr(null, [8, 19]), "La. Pub. Serv. Comm'n General Order R-29617 (V)(A); La. R.S. 45:811"),
  row("MA", everyDay([8, 19]), "Mass. Gen. Laws c. 159C"),
  row("MD", everyDay([8, 19]), "Md. Code Com. Law 14-4501 ff."),
  row("MI", everyDay([9, 20]), "Mich. Comp. Laws 445.111 ff. (automated calls)"),
  row("MN", everyDay([9, 20]), "Minn. Stat. 325E.30 (automatic dialing-announcing devices)"),
  row("MS", sundayOr(null, [8, 19]), "Miss. Code 77-3-723"),
  row("NM", everyDay([9, 20]), "N.M. Stat. 57-12-22"),
  row("NV", everyDay([9, 19]), "Nev. Rev. Stat. 597.814 (automated calls)"),
  row("OK", everyDay([8, 19]), "15 Okla. Stat. 775C.4"),
  row("OR", everyDay([8, 19]), "Oregon HB 3865 (2025)"),
  row(
    "RI",
    [null, [9, 17], [9, 17], [9, 17], [9, 17], [9, 17], [10, 16]],
    "R.I. Gen. Laws 5-61-3.6 with 5-61-2(9) (hours of operation)",
  ),
  row("SD", sundayOr(null, [9, 20]), "S.D. Codified Laws 37-30-28 (automated dialing)"),
  row("TX", sundayOr([12, 20], [9, 20]), "Tex. Bus. & Com. Code 301.051 with SB 140 (2025)"),
  row("UT", sundayOr(null, [8, 20]), "Utah Code 13-25a-103"),
  row("WA", everyDay([8, 19]), "RCW 80.36.390"),
  row("WY", everyDay([8, 19]), "Wyo. Stat. 40-12-302"),
];
