"""What the screens are made of. Widgets show what they are given and say with messages what a person did."""
