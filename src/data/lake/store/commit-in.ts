/** Commits within a transaction, and stores the commit's token with its result. */
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
import type { Tx } from "../../../ground/store/index.ts";
import type { Commit, Committed } from "../core/commit.ts";
import { planCommit } from "../core/plan-commit.ts";
import { readCommitFacts, readHead } from "./read-commit-facts.ts";
import { writeCommit } from "./write-commit.ts";

/** How long a commit can be repeated with its token. */
const tokenKeptMs = 7 * 24 * 3_600_000;

export async function commitIn(tx: Tx, commit: Commit, prng: Prng): Promise<Committed> {
  const { token } = commit;
  if (token.length === 0 || token.length > 200) {
    throw new OperatingError("bad_request", "never", "a commit's token has 1 to 200 characters");
  }
  const head = await readHead(tx, token);
  if (head.done !== undefined) return JSON.parse(head.done) as Committed;
  const facts = await readCommitFacts(tx, commit, head, () => createUuid(prng));
  const { rows, committed } = planCommit(commit, facts);
  if (rows !== undefined) await writeCommit(tx, rows, committed.snapshot);
  const done = {
    snapshot_id: committed.snapshot,
    result_json: JSON.stringify(committed),
    expires_at_ms: head.nowMs + tokenKeptMs,
  };
  await tx.db
    .insertInto("lake_commit_tokens")
    .values({ token, ...done })
    .onConflict((conflict) => conflict.column("token").doUpdateSet(done))
    .execute();
  return committed;
}

/** A version 4 (random) UUID. */
function createUuid(prng: Prng): string {
  const digits = Array.from({ length: 32 }, (_, index) => {
    if (index === 12) return "4";
    return (index === 16 ? 8 + prng.below(4) : prng.below(16)).toString(16);
  }).join("");
  const parts = [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16)];
  return [...parts, digits.slice(16, 20), digits.slice(20)].join("-");
}
