/**
 * How large a plan may become while it is made: the characters of its nodes as JSON, each counted
 * whenever it is added. A view that is used by a view that is used twice, and so on, would else
 * take time that doubles with every statement.
 */
export const planCharactersMax = 16 * 1_048_576;

/** How many branches the unions of a plan may have that is cut into stages. */
export const planBranchesMax = 20_000;
