import type { Client } from "@countersign/sdk";
import { type ReactNode, useState } from "react";
import { Confirm } from "../../../parts/forms/dialog.tsx";
import { useChannelChange } from "./use-channel-change.ts";

interface Props {
  readonly title: string;
  readonly may: boolean;
  /** Null: the channel is not connected. */
  readonly connected: ReactNode | null;
  readonly unconnected: (connect: () => void) => ReactNode;
  readonly form: (close: () => void) => ReactNode;
  readonly remove: (client: Client) => Promise<unknown>;
  readonly removed: string;
  /** Says what stops. */
  readonly removal: string;
}

/** Shows a channel of the organization. Admins connect, change and disconnect it. */
export function ChannelCard({ title, may, connected, unconnected, form, remove, removed, removal }: Props) {
  const [open, setOpen] = useState<"form" | "removal" | null>(null);
  const close = () => setOpen(null);
  const removing = useChannelChange(removed, remove, close);
  return (
    <section className="card stack" aria-label={title}>
      <div className="row between">
        <h2>{title}</h2>
        {may && connected !== null && (
          <span className="row">
            <button type="button" className="button small" onClick={() => setOpen("form")}>
              Change
            </button>
            <button type="button" className="button small bad" onClick={() => setOpen("removal")}>
              Disconnect
            </button>
          </span>
        )}
      </div>
      {connected}
      {connected === null && may && unconnected(() => setOpen("form"))}
      {connected === null && !may && <p className="muted">Not connected. An admin can connect it.</p>}
      {open === "form" && form(close)}
      {open === "removal" && (
        <Confirm
          title={`Disconnect ${title}?`}
          action="Disconnect"
          tone="bad"
          busy={removing.isPending}
          onConfirm={() => removing.mutate(undefined)}
          onClose={close}
        >
          <p>{removal}</p>
        </Confirm>
      )}
    </section>
  );
}
