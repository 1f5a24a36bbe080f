/** Stores a fact that reviews wait for, without losing the facts that are stored at the same place. */
import { type AttentionItem, limits, type StoredContext } from "@countersign/contract";
import { ApiError, type Client } from "@countersign/sdk";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useClient } from "../api/session.tsx";
import { nowMs } from "../browser/clock.ts";
import { Dialog, FormActions } from "../parts/forms/dialog.tsx";
import { SelectField, TextArea, TextField } from "../parts/forms/field.tsx";
import { Failed, Loaded } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { useToasts } from "../parts/toasts.tsx";
import { confirmedWith, type FactPlace, factPlace, factValue, mergedFacts } from "./merged-facts.ts";

/** Whom the fact is about. */
interface About {
  readonly scope: "org" | "agent" | "target";
  readonly agent_id: string;
  readonly type: string;
  readonly identifier: string;
}

export function SupplyFact({ item, onClose }: { readonly item: AttentionItem; readonly onClose: () => void }) {
  const client = useClient();
  const { escalation_id = "", what } = item;
  const first = useQuery({
    queryKey: ["escalations", "one", escalation_id],
    queryFn: () => client.getEscalation(escalation_id),
    enabled: escalation_id !== "",
  });
  const place = factPlace(what);
  return (
    <Dialog title="Supply the fact" onClose={onClose}>
      {place === null ? (
        <p>The service does not know this category of facts.</p>
      ) : (
        <Loaded query={first} what="the first of these reviews">
          {({ agent_id, action: { target } }) => (
            <FactForm
              item={item}
              place={place}
              first={{
                scope: firstScope(place, target !== null),
                agent_id,
                type: target?.type ?? "",
                identifier: target?.identifier ?? "",
              }}
              onClose={onClose}
            />
          )}
        </Loaded>
      )}
    </Dialog>
  );
}

function firstScope({ category }: FactPlace, has_target: boolean): About["scope"] {
  if (category === "identity") return "agent";
  return category === "entity_state" && has_target ? "target" : "org";
}

function FactForm({
  item,
  place,
  first,
  onClose,
}: {
  readonly item: AttentionItem;
  readonly place: FactPlace;
  readonly first: About;
  readonly onClose: () => void;
}) {
  const [about, setAbout] = useState(first);
  const [text, setText] = useState("");
  const stored = useStored(about);
  const value = factValue(text, place.field?.types);
  const save = useSupply(about, place, onClose);
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (value !== undefined && !save.isPending) save.mutate(value);
      }}
    >
      <p>
        <strong className="mono">
          <Data text={`${place.category}.${place.name}`} />
        </strong>
        {place.field === undefined ? "" : `: ${place.field.meaning}. `}
        {` ${(item.count ?? 0).toLocaleString("en")} open reviews wait for it. People still decide those; the next actions do not wait.`}
      </p>
      <AboutFields about={about} onChange={setAbout} />
      <ValueField place={place} text={text} wrong={text !== "" && value === undefined} onChange={setText} />
      {stored.data !== undefined && <Confirmed facts={confirmedWith(stored.data, place)} />}
      {stored.error !== null && <Failed error={stored.error} />}
      {save.error !== null && <Failed error={save.error} />}
      <FormActions
        action="Store the fact"
        disabled={value === undefined || stored.data === undefined || save.isPending}
        onClose={onClose}
      />
    </form>
  );
}

const scopes = [
  ["org", "The whole organization"],
  ["agent", "One agent"],
  ["target", "One target"],
] as const;

function AboutFields({ about, onChange }: { readonly about: About; readonly onChange: (about: About) => void }) {
  return (
    <>
      <SelectField
        label="The fact is about"
        value={about.scope}
        onChange={({ target: { value } }) => onChange({ ...about, scope: value as About["scope"] })}
        options={scopes}
      />
      {about.scope === "agent" && (
        <TextField
          label="Agent"
          required
          maxLength={limits.agent_id_chars_max}
          value={about.agent_id}
          onChange={({ target: { value } }) => onChange({ ...about, agent_id: value })}
        />
      )}
      {about.scope === "target" && (
        <div className="grid-2">
          <TextField
            label="Type of the target"
            required
            maxLength={limits.label_chars_max}
            value={about.type}
            onChange={({ target: { value } }) => onChange({ ...about, type: value })}
          />
          <TextField
            label="Target"
            required
            maxLength={limits.target_identifier_chars_max}
            value={about.identifier}
            onChange={({ target: { value } }) => onChange({ ...about, identifier: value })}
          />
        </div>
      )}
    </>
  );
}

function ValueField({
  place: { field },
  text,
  wrong,
  onChange,
}: {
  readonly place: FactPlace;
  readonly text: string;
  readonly wrong: boolean;
  readonly onChange: (text: string) => void;
}) {
  const choices =
    field?.constraint?.kind === "one_of"
      ? field.constraint.values
      : field?.types.every((type) => type === "boolean")
        ? ["true", "false"]
        : null;
  const common = { label: "Value now", required: true, value: text } as const;
  if (choices !== null)
    return (
      <SelectField
        {...common}
        onChange={({ target: { value } }) => onChange(value)}
        options={[["", "Choose"], ...choices.map((each) => [each, each] as const)]}
      />
    );
  const message = wrong ? `Write a value of the type ${field?.types.join(" or ")}.` : null;
  const is_json = field?.types.some((type) => type === "array" || type === "object") ?? false;
  if (is_json)
    return (
      <TextArea {...common} hint="as JSON" wrong={message} onChange={({ target: { value } }) => onChange(value)} />
    );
  return <TextField {...common} wrong={message} onChange={({ target: { value } }) => onChange(value)} />;
}

function Confirmed({ facts }: { readonly facts: readonly (readonly [string, unknown])[] }) {
  if (facts.length === 0) return null;
  return (
    <div className="banner warn">
      <div>
        <strong>These stored facts get the current time, too</strong>
        Facts of one category have one time. Cancel if one of them is no longer true.
        <ul className="small">
          {facts.map(([name, value]) => (
            <li key={name} className="mono">
              <Data text={`${name}: ${JSON.stringify(value)}`} chars_max={200} />
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

/** Returns null if nothing is stored there. */
async function storedOf(client: Client, { scope, agent_id, type, identifier }: About): Promise<StoredContext | null> {
  const read = {
    org: () => client.getOrgContext(),
    agent: () => client.getAgentContext(agent_id),
    target: () => client.getTargetContext({ type, identifier }),
  };
  try {
    return await read[scope]();
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

const isNamed = ({ scope, agent_id, type, identifier }: About) =>
  scope === "org" || (scope === "agent" ? agent_id !== "" : type !== "" && identifier !== "");

function useStored(about: About) {
  const client = useClient();
  const { scope, agent_id, type, identifier } = about;
  const of = { org: [], agent: [agent_id], target: [type, identifier] }[scope];
  return useQuery({
    queryKey: ["context", scope, ...of],
    queryFn: () => storedOf(client, about),
    enabled: isNamed(about),
    staleTime: 0,
  });
}

function useSupply(about: About, place: FactPlace, onDone: () => void) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  return useMutation({
    mutationFn: async (value: unknown) => {
      const { scope, agent_id, type, identifier } = about;
      // Reads again, because a document is stored as a whole and others may have stored facts.
      const stored = await storedOf(client, about);
      const document = mergedFacts(stored, place, value, new Date(nowMs()).toISOString());
      if (scope === "org") return client.putOrgContext(document);
      if (scope === "agent") return client.putAgentContext(agent_id, document);
      return client.putTargetContext({ type, identifier }, document);
    },
    onSuccess: () => {
      toasts.done("Fact stored", "It counts from the next decision on.");
      void queries.invalidateQueries({ queryKey: ["context"] });
      onDone();
    },
  });
}
