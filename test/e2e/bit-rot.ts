/**
 * How answers over damaged data are judged: by what the sound data answers, which a test knows
 * beforehand.
 */
import assert from "node:assert/strict";

export const seed = process.env.CAPSTAN_TEST_SEED ?? "1";

/** What is asked, and what the sound data answers: by arithmetic of the test, not of the lake. */
export interface Question {
  readonly ask: () => Promise<Answer>;
  readonly right: string;
}

/** A warning counts as an error: it says that samples are missing. */
export type Answer =
  | { readonly text: string }
  | { readonly code: string; readonly message: string };

export interface Judged {
  readonly right: number;
  readonly refused: number;
}

/** Asserts that the answer is right, or an error that names one of these. */
export async function judge(
  questions: readonly Question[],
  names: readonly string[],
): Promise<Judged> {
  let [right, refused] = [0, 0];
  for (const [at, question] of questions.entries()) {
    const answer = await question.ask();
    if ("text" in answer) {
      assert.equal(answer.text, question.right, `seed ${seed}: answer ${at} is wrong`);
      right += 1;
    } else {
      const isNamed = names.some((name) => answer.message.includes(name));
      assert.ok(isNamed, `seed ${seed}: ${answer.code}: ${answer.message}`);
      assert.ok(/^(data_corrupt)?$/.test(answer.code), `${answer.code}: ${answer.message}`);
      refused += 1;
    }
  }
  return { right, refused };
}

export async function allRight(questions: readonly Question[]): Promise<void> {
  const { refused } = await judge(questions, []);
  assert.equal(refused, 0);
}

export function report(files: string, cell: string, { right, refused }: Judged): void {
  const count = `${right + refused} flips, ${right} answers right, ${refused} refused by name`;
  process.stdout.write(`bit rot, ${files}, ${cell}: ${count}\n`);
}
