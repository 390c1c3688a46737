"""What can be known without sampling: closed forms, exact dynamics and limits. All in float64, members stacked."""
