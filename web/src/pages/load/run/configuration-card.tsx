/** The configuration: settings by path, and statements. The API never returns passwords. */
import type { Scenario } from "../../../api/gen/types.ts";
import { Card } from "../../../components/card.tsx";
import { settingsOf } from "./config-paths.ts";

export function ConfigurationCard({ scenario }: { readonly scenario: Scenario }) {
  const { operations } = scenario.workload;
  const data = [
    { title: "Statements that make the data", statements: scenario.target.load_sql },
    { title: "Statements that reset them", statements: scenario.target.reset_sql },
  ].filter(({ statements }) => statements.length > 0);
  return (
    <Card title="Configuration">
      <div className="card-body">
        <dl className="facts run-settings">
          {settingsOf(scenario).map(([path, text]) => (
            <div key={path}>
              <dt className="mono">{path}</dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
        <details className="run-details">
          <summary>Operations and their statements</summary>
          {operations.map(({ name, weight, transaction, statements }) => (
            <div key={name}>
              <strong>{name}</strong>{" "}
              <span className="dim">
                weight {weight}
                {transaction && ", a transaction"}
              </span>
              <pre className="mono run-code">{statements.join(";\n")}</pre>
            </div>
          ))}
        </details>
        {data.map(({ title, statements }) => (
          <details key={title} className="run-details">
            <summary>{title}</summary>
            <pre className="mono run-code">{statements.join(";\n")}</pre>
          </details>
        ))}
      </div>
    </Card>
  );
}
