import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MEANING_ELSE } from "./denials.ts";
import { packSignals } from "./pack-signals.ts";
import { PLACES } from "./places.ts";
import { recommendPacks } from "./recommend-packs.ts";

const packs = (description: string): string[] => recommendPacks({ description }).map(({ pack }) => pack);

describe("what is denied leads to no pack", () => {
  test.each([
    "We do not store card numbers, patient files, student records or financial statements",
    "No personal data of patients, students or cardholders is processed",
    "We have nothing to do with health care or schools",
    "We aren't a healthcare provider",
    "It isn't for hospitals.",
    "HIPAA doesn't apply to us: we sell vitamins",
    "GDPR does not matter to us, we're only active in Peru",
    "PHI-free analytics, free of card data, exempt from FERPA",
    "Zero-PHI architecture",
    "Health data? No. Cards: none.",
    "The nurse call system is out of scope",
    "Instead of phone calls we send letters in Ohio, rather than texting customers",
    "We never call customers; everything is by letter",
    "We sell nothing online and accept cash only",
    "It doesn't read e-mail or browse the web",
    "Patients outside the US",
    "We do business everywhere except the EU, or outside California",
    "We serve all US states but not California",
    "Non-EU customers only",
  ])("%s", (description) => {
    expect(packs(description)).toEqual([]);
  });
});

describe("what only seems denied does", () => {
  test.each([
    ["We're a non-profit hospital foundation", ["hipaa"]],
    ["No-code platform for clinics that reduces no-shows", ["hipaa"]],
    ["Non-bank mortgage lender", ["ai"]],
    ["Not only hospitals but also insurers use our agent", ["hipaa"]],
    ["No matter which clinic you run", ["hipaa"]],
    ["Without any coding, hospitals build their own agents", ["hipaa"]],
    ["We do not take cards, we bill patients by post", ["hipaa"]],
    ["You can't call patients before 8 am, so the agent waits", ["hipaa", "tcpa"]],
    ["We cannot deploy without a ticket", ["csf"]],
    ["PCI is out of scope, HIPAA is in scope", ["hipaa"]],
  ])("%s: %j", (description, expected) => {
    expect(packs(description)).toEqual(expected);
  });
});

describe("words that mean something else lead to no pack", () => {
  test.each([
    "Red Sox fan club newsletter",
    "We print business cards and report cards",
    "We offer a student discount in our old-school barbershop",
    "Our patient customers love the veterinary hospital in Boise",
    "10K race organizer in Boston",
    "Agents make function calls and summarise video calls for users",
    "Text-to-SQL and text analysis for customers",
    "Reads bill.txt; delivers API callbacks to users; writes user stories",
    "Mobile phone customers in Japan; websites for florists; a method that prescribes stand-ups",
    "Closed on federal holidays; parcels by Federal Express",
    "Shift scheduling for servers and bartenders",
    "Permission slips, clearance sales, customs clearance, rag dolls",
    "Hospitals in Japan hire us",
    "Swedish massage and French fries in Denver",
    "Our IT, HR and legal teams OK it",
  ])("%s", (description) => {
    expect(packs(description)).toEqual([]);
  });

  test("none of these phrases is a place", () => {
    const places = new Set(PLACES.map(([phrase]) => phrase));
    expect(MEANING_ELSE.filter((phrase) => places.has(phrase))).toEqual([]);
  });
});

describe("places are distinguished", () => {
  test.each([
    ["Clinic in Dublin, Ohio", ["hipaa"]],
    ["Clinic in Dublin", ["gdpr"]],
    ["Bakery with branches in London, New York and Paris", ["gdpr"]],
    ["New England hospital network", ["hipaa"]],
    ["Clinics across Latin America", []],
    ["Hospital in Ontario", []],
    ["Clinic in Ontario, California", ["hipaa", "ccpa"]],
    ["U.S. healthcare payer with an offshore team in India", ["hipaa"]],
    ["Clinics in Calabasas, CA", ["hipaa", "ccpa"]],
    ["Members in CA, TX and NY", ["ccpa"]],
    ["Clinics in Toronto, CA and Montreal, CA", []],
    ["Clinics in the UK, CA and AU", []],
    ["Urgent care centers based in IN and OH", ["hipaa"]],
    ["Shoppers in the UK & IE", ["gdpr"]],
    ["Hotels in AT, DE and CH", ["gdpr"]],
    ["Title office in NJ, DE and PA", []],
    ["Parties in Berlin, NH", []],
    ["Italian restaurant in Chicago", []],
    ["Spanish-speaking guides in Miami", []],
    ["Spanish customers of a shop in Miami", ["gdpr"]],
    ["American Express lounge in France", ["pci", "gdpr"]],
    ["Vendors in DACH and EMEA", ["gdpr"]],
  ])("%s: %j", (description, expected) => {
    expect(packs(description)).toEqual(expected);
  });
});

describe("verbs and their objects are found however they are put", () => {
  test.each([
    ["AI receptionist calls back homeowners", ["tcpa"]],
    ["Outage calls to customers", ["tcpa"]],
    ["Agents dial voters and text our donors", ["tcpa"]],
    ["Shoes sold online and shops that sell shoes online", ["pci"]],
    ["Agents screen tenants", ["ai"]],
    ["AI ranks the applications", ["ai"]],
    ["Agents that screen CVs", ["ai"]],
    ["Underwriting consumer loans", ["ai"]],
    ["Moves money between accounts and pays suppliers", ["iam"]],
    ["Creates accounts and assigns roles", ["iam"]],
    ["Patches Windows servers and reboots hosts", ["csf"]],
    ["Reads all incoming e-mails", ["provenance"]],
    ["Summarises PDFs that clients upload", ["provenance"]],
    ["Summarizes product reviews", ["provenance"]],
    ["Crawls 4,000 websites", ["provenance"]],
    ["Checks drafts against the web", ["provenance"]],
    ["Freezes cards that were stolen", ["pci"]],
    ["Handles claims and suggests grades", ["ai"]],
    ["Pays carriers in the lower 48 states", ["iam"]],
    ["Monitors machines", ["mon"]],
    ["Sends reminders under a daily budget", ["limits"]],
    ["Caps the payouts of each agent", ["limits"]],
    ["Fixes bugs in our repository", ["coding"]],
    ["A coding agent that opens pull requests", ["coding"]],
    ["Opens maintenance tickets", []],
    ["Restores databases", ["csf"]],
    ["Drafts discharge summaries", ["hipaa"]],
  ])("%s: %j", (description, expected) => {
    expect(packs(description)).toEqual(expected);
  });
});

test("the quoted words occur in the description exactly", () => {
  const description = "Call-Centre for the U.S.A., 10-K filings, e-commerce\nshop; agents screen all new tenants";
  for (const { because } of recommendPacks({ description })) {
    const quoted = [...because.matchAll(/"([^"]+)"/g)].map((match) => match[1] ?? "");
    expect(quoted.length).toBeGreaterThan(0);
    for (const words of quoted) expect(description.replaceAll("\n", " ")).toContain(words);
  }
});

test("the quoted words occur in the description, with any text around them", () => {
  const words = [
    ...packSignals.flatMap(({ names, phrases }) => [...names, ...phrases]),
    ...PLACES.map(([phrase]) => phrase),
  ];
  const part = fc.oneof(
    fc.constantFrom(...words),
    fc.constantFrom("no", "not", "call", "our", "customers", "CA", "TX"),
  );
  const gap = fc.constantFrom(" ", ", ", ". ", "-", "\n", " – ", "; ", "'s ", "_");
  fc.assert(
    fc.property(fc.array(fc.tuple(part, gap), { maxLength: 20 }), (parts) => {
      const description = parts.flat().join("");
      for (const { because } of recommendPacks({ description })) {
        const quoted = [...because.matchAll(/"([^"]+)"/g)].map((match) => match[1] ?? "");
        for (const shown of quoted) {
          expect(description.replace(/\s+/g, " ")).toContain(shown.endsWith("…") ? shown.slice(0, -1) : shown);
        }
      }
    }),
  );
});
