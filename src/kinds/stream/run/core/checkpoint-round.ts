/**
 * Which fragments have acknowledged the checkpoint under way. One is under way at a time. A
 * fragment that has ended counts with the state that it ended with (SU20, SU26).
 */
export class CheckpointRound<State> {
  readonly #fragments: readonly string[];
  readonly #ended = new Map<string, State>();
  #acknowledged = new Map<string, State>();
  #checkpoint: number | undefined;

  constructor(fragments: readonly string[]) {
    this.#fragments = fragments;
  }

  /** The number of the checkpoint under way. */
  get checkpoint(): number | undefined {
    return this.#checkpoint;
  }

  get hasAllEnded(): boolean {
    return this.#fragments.every((fragment) => this.#ended.has(fragment));
  }

  /** What came for the checkpoint under way. */
  get acknowledged(): readonly State[] {
    return [...this.#acknowledged.values()];
  }

  begin(checkpoint: number): void {
    this.#checkpoint = checkpoint;
    this.#acknowledged = new Map();
  }

  /** `false`: the checkpoint is not under way any more, so the state is of no use. */
  acknowledge(fragment: string, checkpoint: number, state: State): boolean {
    if (checkpoint !== this.#checkpoint) return false;
    this.#acknowledged.set(fragment, state);
    return true;
  }

  ended(fragment: string, state: State): void {
    this.#ended.set(fragment, state);
  }

  /** The states of all fragments, in their order; `undefined` while one is missing. */
  states(): readonly State[] | undefined {
    if (this.#checkpoint === undefined) return undefined;
    const states: State[] = [];
    for (const fragment of this.#fragments) {
      const state = this.#acknowledged.get(fragment) ?? this.#ended.get(fragment);
      if (state === undefined) return undefined;
      states.push(state);
    }
    return states;
  }

  /** For people: who has not acknowledged yet. */
  missing(): readonly string[] {
    return this.#fragments.filter(
      (fragment) => !this.#acknowledged.has(fragment) && !this.#ended.has(fragment),
    );
  }

  /** The checkpoint under way is complete, or given up. */
  close(): void {
    this.#checkpoint = undefined;
    this.#acknowledged = new Map();
  }
}
