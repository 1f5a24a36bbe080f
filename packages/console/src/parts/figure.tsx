import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

interface FigureProps {
  readonly name: string;
  readonly value: string;
  /** Compared with an earlier time. */
  readonly change?: string;
  readonly about: ReactNode;
}

export function Figure(props: FigureProps) {
  return (
    <div className="card figure">
      <Content {...props} />
    </div>
  );
}

/** A figure that leads to the rows that it counts. */
export function FigureLink({
  to,
  search,
  ...figure
}: FigureProps & { readonly to: "/decisions" | "/review"; readonly search: never }) {
  return (
    <Link to={to} search={search} className="card figure">
      <Content {...figure} />
    </Link>
  );
}

function Content({ name, value, change = "", about }: FigureProps) {
  return (
    <>
      <span className="muted small">{name}</span>
      <span className="row">
        <b>{value}</b>
        {change !== "" && <span className="small muted">{change}</span>}
      </span>
      <span className="small muted">{about}</span>
    </>
  );
}

export const shareText = (share: number) =>
  `${(share * 100).toLocaleString("en", { maximumFractionDigits: share < 0.01 ? 2 : 1 })} %`;
