import { Security } from "../../account/security.tsx";
import { TokenIssuerSettings } from "../../account/token-issuer-settings.tsx";
import { useMay, useReads, useSession, useSubmits } from "../../api/session.tsx";
import { applyTheme, type Theme, useTheme } from "../../browser/theme.ts";
import { ErasureSettings } from "../../erasure/erasure-settings.tsx";
import { FreezeSettings } from "../../freezes/freeze-settings.tsx";
import { CopyButton } from "../../parts/forms/copy.tsx";
import { SelectField } from "../../parts/forms/field.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Who } from "../../parts/records/who.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { TestIntent } from "../welcome/test-intent.tsx";
import { OwnPaceCard } from "./people/reviewer-pace.tsx";

const roleMeanings: Readonly<Record<string, string>> = {
  admin:
    "Manages keys, membranes, policies, webhooks, agents, sign-in and people, and ends freezes. May do everything that an operator may.",
  operator:
    "Manages stored facts, failed deliveries and overrides. Cancels and reassigns reviews, revokes approvals, adjusts counters, starts freezes and reads the audit trail. May do everything that a reviewer may.",
  reviewer: "Decides escalations, manages grants, and reads decisions, rules and agents.",
  agent: "Submits intents and reads its own.",
  auditor:
    "Reads decisions, rules, people and the audit trail, but no keys, invitations and failed deliveries. Changes nothing.",
};

export function SettingsPage() {
  const { caller } = useSession();
  const submits = useSubmits();
  const admin = useMay("admin");
  const reads = useReads();
  const reviews = useMay("reviewer");
  if (caller === null) return null;
  return (
    <>
      <PageHead title="Settings" about="What concerns you first, then the organization." />
      <section className="card stack">
        <h2>You</h2>
        <dl className="pairs">
          <dt>Organization</dt>
          <dd>
            <Data text={caller.org_name} /> <span className="mono small muted">{caller.org_id}</span>{" "}
            <CopyButton text={caller.org_id} label="Copy id" />
          </dd>
          <dt>Signed in with</dt>
          <dd>
            {caller.type === "open_mode"
              ? "open mode (no key exists yet)"
              : caller.type === "key"
                ? "an API key"
                : "a session"}
            {caller.id?.startsWith("usr_") && (
              <>
                {" of "}
                <Who id={caller.id} />
              </>
            )}
            {caller.id !== null && <span className="mono small muted">{` ${caller.id}`}</span>}
          </dd>
          <dt>Role</dt>
          <dd>
            <strong>{caller.role}</strong>: {roleMeanings[caller.role]}
          </dd>
          <dt>Environment</dt>
          <dd>{caller.environment}</dd>
        </dl>
      </section>
      <div className="grid-2">
        <Looks />
        {reviews && <OwnPaceCard />}
        {caller.type === "user" && <Security />}
      </div>
      {reads && <FreezeSettings />}
      <ErasureSettings />
      {admin && <TokenIssuerSettings />}
      {submits && <TestIntent />}
      {admin && <ApiNote />}
    </>
  );
}

function Looks() {
  const theme = useTheme();
  return (
    <section className="card stack">
      <h2>Looks</h2>
      <div className="filters">
        <SelectField
          label="Theme"
          value={theme}
          onChange={(event) => applyTheme(event.target.value as Theme)}
          options={[
            ["system", "System"],
            ["light", "Light"],
            ["dark", "Dark"],
          ]}
        />
      </div>
    </section>
  );
}

function ApiNote() {
  return (
    <p className="small muted">
      The API is described in <a href="/openapi.json">openapi.json</a>.
    </p>
  );
}
