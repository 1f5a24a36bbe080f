import { Data } from "../tables/data.tsx";

export function ActionName({ type, verb }: { readonly type: string; readonly verb: string }) {
  return (
    <>
      <Data text={type} chars_max={60} />
      <div className="small muted mono">
        <Data text={verb} chars_max={60} />
      </div>
    </>
  );
}
