import { Component, type ComponentChildren } from "preact";
import { Button } from "../pieces/Button";

interface Props {
  children: ComponentChildren;
  what: string;
}

/** Keeps the failure of one view inside it: the rest of the page stays. */
export class Guard extends Component<Props, { fault: string | null }> {
  state = { fault: null };

  static getDerivedStateFromError(error: unknown): { fault: string } {
    return { fault: error instanceof Error ? `${error.name}: ${error.message}` : String(error) };
  }

  render({ children, what }: Props, { fault }: { fault: string | null }) {
    if (fault === null) return children;
    return (
      <div class="problem" role="alert">
        <p>
          {what} could not be shown. The other views still work. ({fault})
        </p>
        <Button onClick={() => this.setState({ fault: null })}>Try again</Button>
      </div>
    );
  }
}
