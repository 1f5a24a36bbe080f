import { Unknown, unknown } from "@countersign/cel";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import { framework } from "../../src/functions/framework.ts";
import { withTcpaFallback } from "../../src/functions/tcpa-fallback.ts";
import { aiDisclosed, aiVoice } from "../../src/functions/voice.ts";

const frameworks = (applicable_frameworks: unknown) => ({ regulatory: { applicable_frameworks } });

describe("framework", () => {
  test.each([
    [{ privacy: { ccpa: false } }, "ccpa", "no"],
    [{ privacy: ["gdpr", "ccpa"] }, "gdpr", "yes"],
    [{ privacy: ["gdpr", "ccpa"] }, "hipaa", "unknown"],
    [{ health: { hipaa: "not_applicable" } }, "hipaa", "no"],
    [{ health: "HIPAA" }, "hipaa", "yes"],
    [{ payments: { "PCI-DSS": true } }, "pci_dss", "yes"],
    [{ payments: "PCI DSS v4.0.1" }, "pci_dss", "yes"],
    [{ payments: { pci: false } }, "pci_dss", "no"],
    [{ ai: { "EU AI Act": { applicable: false } } }, "eu_ai_act", "no"],
    [{ ai: { eu_ai_act: { applicable: true, since: "2026" } } }, "eu_ai_act", "yes"],
    [{ ai: { eu_ai_act: { tier: "high" } } }, "eu_ai_act", "yes"],
    [{ security: ["ISO 27001:2022"] }, "iso_27001", "yes"],
    [{ security: ["NIST SP 800-171 r2"] }, "nist_800_171", "yes"],
    [{ security: ["NIST SP 800-171A"] }, "nist_800_171", "unknown"],
    [{ government: "FedRAMP Moderate" }, "fedramp", "yes"],
    [{ government: "FedRAMP (High Baseline, Rev. 5)" }, "fedramp", "yes"],
    [{ "FedRAMP LI-SaaS": false }, "fedramp", "no"],
    [["CMMC Level 2"], "cmmc", "yes"],
    [["CMMC 2.0, Level II"], "cmmc", "yes"],
    ["gdpr, ccpa", "ccpa", "yes"],
    [{ privacy: "GDPR and CCPA/CPRA" }, "gdpr", "yes"],
    [{ privacy: "GDPR and CCPA/CPRA" }, "ccpa", "yes"],
    [{ not_applicable: "gdpr; hipaa" }, "hipaa", "no"],
    [{ privacy: "before GDPR" }, "gdpr", "unknown"],
    [{ security: ["NIST SP 800-171"] }, "nist_800_171", "yes"],
    [{ not_applicable: ["hipaa"] }, "hipaa", "no"],
    [{ excluded: ["hipaa"], applies: ["HIPAA"] }, "hipaa", "yes"],
    [{ a: { gdpr: false }, b: { gdpr: true } }, "gdpr", "yes"],
    [{ gdpr: null }, "gdpr", "unknown"],
    [{ gdpr: "unknown" }, "gdpr", "unknown"],
    [{ gdpr: {} }, "gdpr", "unknown"],
    [{ privacy: { gdpr: [] } }, "gdpr", "unknown"],
    [["gdpr"], "gdpr", "yes"],
    [["CMMC L2"], "cmmc", "yes"],
    [{ cmmc_l2: true }, "cmmc", "yes"],
    [{ defense: "CMMC Level 2 (C3PAO)" }, "cmmc", "yes"],
    [["FedRAMP 20x"], "fedramp", "yes"],
    [["FedRAMP Authorized"], "fedramp", "yes"],
    [{ fedramp_authorized: false }, "fedramp", "unknown"],
    [["GDPR (EU) 2016/679"], "gdpr", "yes"],
    [["General Data Protection Regulation"], "gdpr", "yes"],
    [{ "General Data Protection Regulation": false }, "gdpr", "no"],
    [{ not_applicable: ["GDPR (UK)"] }, "gdpr", "unknown"],
    [["GDPR does not apply"], "gdpr", "unknown"],
    [["GDPR is what our counsel was once asked about"], "gdpr", "unknown"],
    [["EU AI Act, high-risk"], "eu_ai_act", "yes"],
    [["EU AI Act (Regulation (EU) 2024/1689)"], "eu_ai_act", "yes"],
    [["NIST AI Risk Management Framework"], "nist_ai_rmf", "yes"],
    [{}, "gdpr", "unknown"],
    [null, "gdpr", "unknown"],
    [7, "gdpr", "unknown"],
    [{ gdpr: true }, "", "unknown"],
    [{ gdpr: true }, 7, "unknown"],
    [{ constructor: "gdpr" }, "gdpr", "yes"],
  ])("%j says of %j: %s", (value, name, expected) => {
    expect(framework(frameworks(value), name)).toBe(expected);
  });

  test.each(["li", "lvl", "rev i ", "gdpr "])("a long text of %j is read to its end", (word) => {
    expect(framework(frameworks([`cmmc${word.repeat(20_000)}z`]), "cmmc")).toBe("unknown");
  });

  test("one yes anywhere beats any number of no", () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 6 }), (said) => {
        const value = Object.fromEntries(said.map((applies, at) => [`domain_${at}`, { GDPR: applies }]));
        expect(framework(frameworks(value), "gdpr")).toBe(said.includes(true) ? "yes" : "no");
      }),
    );
  });
});

describe("aiVoice", () => {
  test.each([
    [{ environmental: { ai_voice_detected: true } }, true],
    [{ regulatory: { ai_voice_detected: true } }, true],
    [{ regulatory: { tcpa: { ai_voice_detected: true } } }, true],
    [{ environmental: { ai_voice_detected: false }, regulatory: { ai_voice_detected: true } }, true],
    [{ environmental: { communication_method: "AI-Voice", ai_voice_detected: false } }, true],
    [{ environmental: { communication_method: "manual" } }, false],
    [{ regulatory: { ai_voice_detected: true, tcpa: { ai_voice_detected: "false" } } }, true],
    [{}, false],
    [undefined, false],
  ])("of %j is %j", (facts, expected) => {
    expect(aiVoice(facts)).toBe(expected);
  });

  test.each([
    [{ environmental: { ai_voice_detected: "true" } }, "facts.environmental.ai_voice_detected"],
    [
      { environmental: { ai_voice_detected: false }, regulatory: { ai_voice_detected: 1 } },
      "facts.regulatory.ai_voice_detected",
    ],
    [{ regulatory: { tcpa: { ai_voice_detected: "yes" } } }, "facts.regulatory.tcpa.ai_voice_detected"],
  ])("of %j is unknown: %s is no boolean", (facts, path) => {
    expect(aiVoice(facts)).toEqual(unknown(path, "type"));
  });
});

describe("aiDisclosed", () => {
  test.each([
    [{ environmental: { ai_voice_disclosure: true } }, true],
    [{ regulatory: { ai_voice_disclosure: "spoken in the first sentence" } }, true],
    [{ environmental: { ai_voice_disclosure: true }, regulatory: { ai_voice_disclosure: false } }, false],
    [{ environmental: { ai_voice_disclosure: true }, regulatory: { ai_voice_disclosure: "none" } }, false],
    [{ environmental: { ai_voice_disclosure: null } }, false],
    [{}, false],
  ])("of %j is %j", (facts, expected) => {
    expect(aiDisclosed(facts)).toBe(expected);
  });
});

describe("withTcpaFallback", () => {
  test("a flat fact that is missing or null comes from the container", () => {
    const consent = { status: "granted" };
    expect(withTcpaFallback({ tcpa: { consent }, tcpa_consent: null })).toEqual({
      tcpa: { consent },
      tcpa_consent: consent,
    });
    expect(withTcpaFallback({ tcpa: { internal_dnc_listed: false } })).toMatchObject({ internal_dnc_listed: false });
  });

  test("a flat fact that is given stays", () => {
    const regulatory = { tcpa: { consent: { status: "granted" } }, tcpa_consent: { status: "revoked" } };
    expect(withTcpaFallback(regulatory)).toBe(regulatory);
  });

  test.each([undefined, null, 7, [], {}, { tcpa: null }, { tcpa: "x" }, { tcpa: { unrelated: 1 } }])(
    "%j is answered as it is",
    (value) => {
      expect(withTcpaFallback(value)).toBe(value);
    },
  );
});

test("no junk makes any of these functions throw", () => {
  fc.assert(
    fc.property(fc.anything({ maxDepth: 5 }), fc.anything(), (value, name) => {
      expect(["yes", "no", "unknown"]).toContain(framework(frameworks(value), name));
      expect(["yes", "no", "unknown"]).toContain(framework(value, "gdpr"));
      const voice = aiVoice(value);
      expect(typeof voice === "boolean" || voice instanceof Unknown).toBe(true);
      expect(typeof aiDisclosed({ regulatory: value, environmental: value })).toBe("boolean");
      withTcpaFallback(value);
    }),
    { numRuns: runs(2_000) },
  );
});
