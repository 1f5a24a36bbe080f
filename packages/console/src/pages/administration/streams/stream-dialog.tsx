import { limits, type Stream, type StreamFormat, type StreamInput } from "@countersign/contract";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useClient } from "../../../api/session.tsx";
import { Dialog, FormActions } from "../../../parts/forms/dialog.tsx";
import { SelectField, TextField } from "../../../parts/forms/field.tsx";
import { Failed } from "../../../parts/states.tsx";

export function StreamDialog({
  onClose,
  onSaved,
}: {
  readonly onClose: () => void;
  readonly onSaved: (stream: Stream) => void;
}) {
  const client = useClient();
  const [kind, setKind] = useState<"s3" | "file">("s3");
  const save = useMutation({
    mutationFn: (form: FormData) => client.createStream(inputOf(form, kind)),
    onSuccess: onSaved,
  });
  return (
    <Dialog title="Add a stream" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(new FormData(event.currentTarget));
        }}
      >
        <TextField label="Name" name="name" required maxLength={limits.name_chars_max} />
        <SelectField
          label="Format"
          name="format"
          options={[
            ["jsonl", "JSON Lines: the records of the audit trail"],
            ["ocsf", "OCSF: events for a SIEM"],
          ]}
        />
        <SelectField
          label="Store"
          value={kind}
          onChange={(event) => setKind(event.target.value === "file" ? "file" : "s3")}
          options={[
            ["s3", "A bucket of S3 or a compatible store"],
            ["file", "The directory of this service"],
          ]}
        />
        {kind === "s3" ? (
          <BucketFields />
        ) : (
          <p className="small muted">The operator of this service sets the directory with COUNTERSIGN_STREAM_DIR.</p>
        )}
        {save.error !== null && <Failed error={save.error} />}
        <FormActions action="Add" disabled={save.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}

function BucketFields() {
  return (
    <>
      <TextField
        label="Address"
        name="endpoint"
        type="url"
        required
        placeholder="https://s3.eu-central-1.amazonaws.com"
        hint="https, without the bucket"
        maxLength={limits.webhook_url_chars_max}
      />
      <TextField label="Region" name="region" required placeholder="eu-central-1" maxLength={64} />
      <TextField label="Bucket" name="bucket" required maxLength={63} />
      <TextField
        label="Prefix"
        name="prefix"
        hint="Each object’s name begins with it. It may be empty."
        maxLength={limits.stream_prefix_chars_max}
      />
      <TextField label="Access key id" name="access_key_id" required autoComplete="off" maxLength={128} />
      <TextField
        label="Secret access key"
        name="secret_access_key"
        type="password"
        required
        autoComplete="off"
        hint="It needs the permission to put objects, and no other."
        maxLength={limits.stream_secret_chars_max}
      />
    </>
  );
}

function inputOf(form: FormData, kind: "s3" | "file"): StreamInput {
  const text = (name: string) => String(form.get(name) ?? "").trim();
  const format: StreamFormat = text("format") === "ocsf" ? "ocsf" : "jsonl";
  const about = { name: text("name"), format };
  if (kind === "file") return { ...about, target: { kind } };
  const names = ["endpoint", "region", "bucket", "prefix", "access_key_id", "secret_access_key"] as const;
  return { ...about, target: { kind, ...Object.fromEntries(names.map((name) => [name, text(name)])) } };
}
