import type { Environment, EvaluationContext, Program, Thunk } from "@countersign/cel";
import { plainEnvironment } from "./environment.ts";
import { mentionsOf } from "./fact-paths.ts";

/** Expressions cannot name it. */
export interface VariableMemo {
  readonly memo: unknown[];
}

interface SharedVariable {
  readonly program: Program;
  readonly thunk: Thunk<EvaluationContext>;
}

interface PlacedVariable extends SharedVariable {
  /** Index in `VariableMemo.memo`. */
  readonly slot: number;
}

/**
 * Variables of one policy set. An expression that reads no other variable is compiled once, and evaluated once per
 * view, even if several policies declare it.
 */
export class SharedVariables {
  /** Shared by all policies of the set, so one evaluation shares its lookups. */
  readonly environment: Environment;
  private readonly base: SharedVariables | null;
  private readonly inherited: number;
  private readonly bySource = new Map<string, PlacedVariable>();

  /** `base` is shared by many sets and never changed here. */
  constructor(base: SharedVariables | null = null) {
    this.base = base;
    this.inherited = base?.size ?? 0;
    this.environment = plainEnvironment(base?.environment);
  }

  /** Checked in `environment`. */
  declare(source: string, environment: Environment): SharedVariable {
    const known = this.find(source);
    if (known !== undefined) return known;
    const program = environment.compileUnchecked(source);
    if (mentionsOf(source).variables.size > 0) return { program, thunk: (context) => program.resolve(context) };
    const slot = this.size;
    const thunk: Thunk<EvaluationContext> = (context) => {
      const { memo } = context.bindings as unknown as VariableMemo;
      if (memo[slot] === undefined) memo[slot] = program.resolve(context);
      return memo[slot];
    };
    const shared = { program, thunk, slot };
    this.bySource.set(source, shared);
    return shared;
  }

  private get size(): number {
    return this.inherited + this.bySource.size;
  }

  private find(source: string): PlacedVariable | undefined {
    const own = this.bySource.get(source);
    if (own !== undefined) return own;
    const found = this.base?.find(source);
    return found !== undefined && found.slot < this.inherited ? found : undefined;
  }
}
