import { limits } from "@countersign/contract";
import { useState } from "react";
import { useMay, useSession } from "../../api/session.tsx";
import { FilterField, SelectField } from "../../parts/forms/field.tsx";
import { type QueueFilters, statusOf } from "./queue.ts";

const statuses = [
  ["pending", "Waiting"],
  ["decided", "Decided"],
  ["timed_out", "Timed out"],
  ["cancelled", "Cancelled"],
  ["all", "All"],
] as const;
const orders = [
  ["", "First to end"],
  ["amount_usd", "Largest amount"],
  ["created_at", "Oldest"],
  ["rule", "Rule"],
  ["tool", "Tool"],
  ["agent_id", "Agent"],
] as const;
const ageNames = [
  ["", "Any age"],
  ["15m", "Over 15 minutes"],
  ["1h", "Over 1 hour"],
  ["4h", "Over 4 hours"],
  ["1d", "Over 1 day"],
] as const;
const reviewers = [
  ["", "Everybody"],
  ["role:reviewer", "Reviewers"],
  ["role:operator", "Operators"],
  ["role:admin", "Admins"],
] as const;
const modes = [
  ["", "Live"],
  ["test", "Test"],
] as const;

/** Filters behind a button, unless one of them is set. A narrow screen has room for the status and the order only. */
const further = ["reviewer", "mode", "amount_usd_min", "amount_usd_max", "age", "snoozed"] as const;
const wide = ["agent_id", "rule", "tool"] as const;

const searchKey = { "aria-keyshortcuts": "/" } as const;

export function focusSearch(): void {
  document.querySelector<HTMLInputElement>('input[aria-keyshortcuts="/"]')?.focus();
}

interface FilterProps {
  readonly filters: QueueFilters;
  readonly onFilter: (change: QueueFilters) => void;
}

export function QueueFilterForm(props: FilterProps) {
  const { filters, onFilter } = props;
  const [more, setMore] = useState(false);
  const isSet = (names: readonly (keyof QueueFilters)[]) => names.some((name) => filters[name] !== undefined);
  // Stays open when the last of its filters is removed.
  if (!more && isSet(further)) setMore(true);
  const shown = more;
  const names = shown || isSet(wide) || matchMedia("(min-width: 861px)").matches;
  const open = statusOf(filters) === "pending";
  const decides = useMay("reviewer");
  return (
    <form className="filters dense" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
      <FilterField
        label="Search"
        type="search"
        maxLength={limits.summary_chars_max}
        filter={filters.text}
        onFilter={(text) => onFilter({ text })}
        {...searchKey}
      />
      <SelectField
        label="Status"
        value={statusOf(filters)}
        onChange={({ target: { value } }) => onFilter({ status: value === "pending" ? "" : value })}
        options={statuses}
      />
      {open && (
        <SelectField
          label="Sort by"
          value={filters.order ?? ""}
          onChange={(event) => onFilter({ order: event.target.value })}
          options={orders}
        />
      )}
      {open && decides && (
        <label className="check">
          <input
            type="checkbox"
            checked={filters.mine === "first"}
            onChange={({ target: { checked } }) => onFilter({ mine: checked ? "first" : "" })}
          />
          Mine first
        </label>
      )}
      {names && <NameFilters {...props} />}
      {shown ? (
        <FurtherFilters {...props} />
      ) : (
        <button type="button" className="button" onClick={() => setMore(true)}>
          More filters
        </button>
      )}
    </form>
  );
}

function NameFilters({ filters, onFilter }: FilterProps) {
  return (
    <>
      <FilterField
        label="Agent"
        maxLength={limits.agent_id_chars_max}
        filter={filters.agent_id}
        onFilter={(agent_id) => onFilter({ agent_id })}
      />
      <FilterField
        label="Rule"
        maxLength={limits.label_chars_max}
        filter={filters.rule}
        onFilter={(rule) => onFilter({ rule })}
      />
      <FilterField
        label="Tool"
        maxLength={limits.verb_chars_max}
        filter={filters.tool}
        onFilter={(tool) => onFilter({ tool })}
      />
    </>
  );
}

function FurtherFilters({ filters, onFilter }: FilterProps) {
  const { caller } = useSession();
  const decides = useMay("reviewer");
  return (
    <>
      <FilterField
        label="USD at least"
        maxLength={20}
        filter={filters.amount_usd_min}
        onFilter={(amount_usd_min) => onFilter({ amount_usd_min })}
      />
      <FilterField
        label="USD at most"
        maxLength={20}
        filter={filters.amount_usd_max}
        onFilter={(amount_usd_max) => onFilter({ amount_usd_max })}
      />
      <SelectField
        label="Age"
        value={filters.age ?? ""}
        onChange={(event) => onFilter({ age: event.target.value })}
        options={ageNames}
      />
      <SelectField
        label="For"
        value={filters.reviewer ?? ""}
        onChange={(event) => onFilter({ reviewer: event.target.value })}
        options={[...reviewers, ...(caller?.id == null ? [] : [[caller.id, "Me by name"] as const])]}
      />
      {decides && statusOf(filters) === "pending" && (
        <SelectField
          label="Snoozed"
          value={filters.snoozed ?? ""}
          onChange={(event) => onFilter({ snoozed: event.target.value })}
          options={[
            ["", "Not shown"],
            ["only", "Only these"],
          ]}
        />
      )}
      <SelectField
        label="Mode"
        value={filters.mode ?? ""}
        onChange={(event) => onFilter({ mode: event.target.value })}
        options={modes}
      />
    </>
  );
}
