"""What is kept in AWS: the rules in force, the secrets, and what is deployed."""
