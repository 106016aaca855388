/**
 * An operation's statements, one after the other; after a failure the transaction, if there is one,
 * is rolled back.
 */
import type { Done } from "../../core/target.ts";

export interface Steps<Statement> {
  /** With BEGIN and COMMIT around them when the operation is a transaction. */
  readonly statements: readonly Statement[];
  readonly rollback: Statement | undefined;
}

export function runSteps<Statement>(
  { statements, rollback }: Steps<Statement>,
  run: (statement: Statement, answer: Done) => void,
  answer: Done,
): void {
  let at = 0;
  let rowCount = 0;
  let resent = 0;
  const go = (): void => {
    const statement = statements[at];
    if (statement === undefined) answer(undefined, rowCount, resent);
    else run(statement, answered);
  };
  const answered: Done = (failure, count, again = 0) => {
    resent += again;
    if (failure === undefined) {
      at += 1;
      rowCount += count;
      go();
    } else if (rollback === undefined || failure.kind === "connection") {
      answer(failure, 0, resent);
    } else {
      run(rollback, () => answer(failure, 0, resent));
    }
  };
  go();
}
