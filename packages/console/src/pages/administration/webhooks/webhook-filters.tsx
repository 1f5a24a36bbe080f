/** The less common settings of a webhook. */
import { limits, secret_mask, type Webhook, type WebhookChange } from "@countersign/contract";
import { useQuery } from "@tanstack/react-query";
import { useClient } from "../../../api/session.tsx";
import { TextArea, TextField } from "../../../parts/forms/field.tsx";
import { Data } from "../../../parts/tables/data.tsx";

const modes = ["live", "shadow", "test"] as const;
type Settings = Required<
  Pick<WebhookChange, "modes" | "membrane_ids" | "headers" | "alert_after_failures" | "pause_after_failures">
>;

/** Reads the fields below. Everything ticked, or nothing: no filter. */
export function settingsOf(form: FormData, membranes: number): Settings {
  const chosen = (name: string, all: number) => {
    const values = form.getAll(name).map(String);
    return values.length === 0 || values.length === all ? null : values;
  };
  const number = (name: string) => (form.get(name) ? Number(form.get(name)) : null);
  return {
    modes: chosen("modes", modes.length) as Settings["modes"],
    membrane_ids: chosen("membrane_ids", membranes),
    headers: headersOf(String(form.get("headers") ?? "")),
    alert_after_failures: number("alert_after_failures"),
    pause_after_failures: number("pause_after_failures"),
  };
}

function headersOf(text: string): Record<string, string> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const [name = "", ...value] = line.split(":");
      return [name.trim(), value.join(":").trim()];
    }),
  );
}

export function useMembranes() {
  const client = useClient();
  return useQuery({ queryKey: ["membranes", "names"], queryFn: () => client.listMembranes({ limit: 200 }) }).data
    ?.membranes;
}

export function WebhookFilters({ webhook }: { readonly webhook: Webhook | null }) {
  const membranes = useMembranes();
  const headers = Object.keys(webhook?.headers ?? {}).map((name) => `${name}: ${secret_mask}`);
  return (
    <details className="stack tight" open={webhook !== null && isFiltered(webhook)}>
      <summary>Filters, headers and what happens when it fails</summary>
      <fieldset className="row">
        <legend>Only these modes</legend>
        {modes.map((mode) => (
          <label key={mode} className="check small">
            <input type="checkbox" name="modes" value={mode} defaultChecked={webhook?.modes?.includes(mode) ?? true} />
            {mode}
          </label>
        ))}
      </fieldset>
      {membranes !== undefined && membranes.length > 1 && (
        <fieldset className="stack tight">
          <legend>Only these membranes</legend>
          {membranes.map(({ membrane_id, name }) => (
            <label key={membrane_id} className="check small">
              <input
                type="checkbox"
                name="membrane_ids"
                value={membrane_id}
                defaultChecked={webhook?.membrane_ids?.includes(membrane_id) ?? true}
              />
              <Data text={name} />
            </label>
          ))}
        </fieldset>
      )}
      <TextArea
        label="Own headers"
        name="headers"
        rows={2}
        placeholder="Authorization: Bearer …"
        hint={`One on each line. Values are stored sealed and shown as ${secret_mask}. Keep ${secret_mask} to keep the value.`}
        defaultValue={headers.join("\n")}
      />
      <div className="grid-2">
        <FailuresField
          label="Mail the admins after"
          name="alert_after_failures"
          value={webhook === null ? 3 : webhook.alert_after_failures}
        />
        <FailuresField label="Pause after" name="pause_after_failures" value={webhook?.pause_after_failures ?? null} />
      </div>
    </details>
  );
}

const isFiltered = ({ modes, membrane_ids, headers, pause_after_failures }: Webhook) =>
  modes !== null || membrane_ids !== null || Object.keys(headers).length > 0 || pause_after_failures !== null;

function FailuresField({
  label,
  name,
  value,
}: {
  readonly label: string;
  readonly name: string;
  readonly value: number | null;
}) {
  return (
    <TextField
      label={label}
      name={name}
      type="number"
      min={1}
      max={limits.webhook_failures_max}
      hint="failed deliveries in a row; empty: never"
      defaultValue={value ?? ""}
    />
  );
}
