/** Describes an agent's action in plain words. Marks the agent's own claims. */
import {
  type ActionType,
  type Escalation,
  type IntentRecord,
  limits,
  unclassified_action_type,
} from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { moneyText } from "../money.ts";
import { Data, Given } from "../tables/data.tsx";

const words = {
  "communication.call": "call",
  "communication.sms": "send a text message to",
  "communication.email": "send an e-mail to",
  "communication.chat": "send a chat message to",
  "data.read": "read data of",
  "data.export": "export data from",
  "data.share": "share data with",
  "data.delete": "delete data of",
  "record.create": "create a record in",
  "record.update": "change a record in",
  "record.delete": "delete a record of",
  "payment.transfer": "transfer money to",
  "payment.charge": "charge",
  "payment.refund": "refund",
  "finance.journal": "post a journal entry in",
  "finance.report": "file a report on",
  "system.change": "change the system",
  "system.deploy": "deploy to",
  "system.recover": "recover",
  "identity.grant": "grant access to",
  "identity.revoke": "revoke access of",
  "code.execute": "run a command in",
  "file.write": "change a file in",
  "model.decide": "decide by model about",
  "model.train": "train a model with",
} satisfies Record<ActionType, string>;

const deeds: ReadonlyMap<string, string> = new Map(Object.entries(words));

/** Without words for the type, shows the tool, and the type if it adds anything. */
export function DeedWords({ type, verb }: { readonly type: string; readonly verb: string }) {
  const words = deeds.get(type);
  if (words !== undefined) return words;
  return (
    <>
      {"call "}
      <Given text={verb} chars_max={limits.verb_chars_max} more={false} />
      {type !== unclassified_action_type && (
        <>
          {" ("}
          <Data text={type} />)
        </>
      )}
      {" on"}
    </>
  );
}

/** Prevents a sentence that ends with "to". */
const nameless = "a target it does not name";

type Wanted = Pick<IntentRecord, "agent" | "action" | "estimated_impact" | "decided_as" | "data_classes">;

/** One sentence. Shows every part that the agent chose as data. */
export function Wants({ intent }: { readonly intent: Wanted }) {
  const { agent, action, estimated_impact: impact, decided_as } = intent;
  const type = decided_as.type;
  const { target } = action;
  const claims =
    impact?.financial_exposure_usd !== undefined || impact?.audience_size !== undefined || impact?.reversible === false;
  return (
    <p className="wants">
      <strong>
        <Given text={agent.id} />
      </strong>
      {agent.on_behalf_of !== undefined && (
        <>
          {", on behalf of "}
          <Given text={agent.on_behalf_of} />
          {" as it says,"}
        </>
      )}
      {" wants to "}
      <strong>
        <DeedWords type={type} verb={action.verb} />
      </strong>{" "}
      {target?.identifier !== undefined ? <Given text={target.identifier} chars_max={300} more /> : nameless}
      {target?.type !== undefined && (
        <span className="muted">
          {" (a "}
          <Given text={target.type} />
          {target.sensitivity !== undefined && `; ${target.sensitivity}, says the agent`})
        </span>
      )}
      {impact?.financial_exposure_usd !== undefined && `, with ${moneyText(impact.financial_exposure_usd)} at stake`}
      {impact?.audience_size !== undefined && `, reaching ${impact.audience_size.toLocaleString("en")} people`}
      {impact?.reversible === false && (
        <>
          , and it <strong>cannot be undone</strong>
        </>
      )}
      {claims && ", says the agent"}.
    </p>
  );
}

export function Deed({ action: { type, verb, target: touched } }: { readonly action: Escalation["action"] }) {
  const target = touched?.identifier;
  return (
    <>
      <DeedWords type={type} verb={verb} />{" "}
      {target !== undefined ? <Given text={target} chars_max={120} more={false} /> : nameless}
    </>
  );
}

export function IntentFields({ intent }: { readonly intent: IntentRecord }) {
  const { agent, action, estimated_impact: impact, decided_as } = intent;
  const declared = action.type ?? "nothing";
  return (
    <dl className="pairs">
      <dt>Tool</dt>
      <dd className="mono">
        <Data text={action.verb} />
      </dd>
      <dt>Decided as</dt>
      <dd>
        <Data text={decided_as.type} />
        {declared !== decided_as.type && (
          <span className="late">
            {" — the agent declared "}
            <Data text={declared} />
          </span>
        )}
      </dd>
      {decided_as.data_classes.length > 0 && (
        <>
          <dt>Data</dt>
          <dd>
            <Data text={decided_as.data_classes.join(", ")} />
          </dd>
        </>
      )}
      {agent.framework !== undefined && (
        <>
          <dt>Framework</dt>
          <dd>
            <Data text={agent.framework} />
          </dd>
        </>
      )}
      {agent.session_id !== undefined && (
        <>
          <dt>Agent session</dt>
          <dd className="mono">
            <Link to="/run" search={{ session_id: agent.session_id, at: intent.submitted_at } as never}>
              <Data text={agent.session_id} more={false} />
            </Link>
          </dd>
        </>
      )}
      {impact?.reversible !== undefined && (
        <>
          <dt>Can be undone</dt>
          <dd>{impact.reversible ? "yes, says the agent" : "no"}</dd>
        </>
      )}
    </dl>
  );
}
